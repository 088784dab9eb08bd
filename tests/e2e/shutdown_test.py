"""Servers that are told to stop: they finish what they accepted, and clients notice nothing."""

import json
import os
import pathlib
import signal
import socket
import threading
import time
import unittest

from snowlease_e2e import E2ECase, SLOW_DISK, eventually, free_port

PID_NAMESPACE = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--pid", "--fork",
                 "--kill-child", "--mount-proc")


class ShutdownTest(E2ECase):
    def test_rolling_restarts_under_load_fail_no_call_of_the_client_library(self):
        """F46: SIGTERM under load, the successor comes on the same address, with the library's defaults."""
        server = self.server(ports=(free_port(), free_port()))
        load = self.client(server, "hold", "load", 6)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(load.stdout))
        reader.start()
        for round_number in range(1, 5):
            eventually(lambda: len(lines) > 200 * round_number, 20, "load")
            self.assertEqual(server.stop(), 0, server.log()[-2000:])
            server.start()
        eventually(lambda: len(lines) > 1000, 20, "load")
        load.stdin.close()
        self.assertEqual(load.wait(30), 0)
        reader.join()
        answers = [json.loads(line) for line in lines]
        self.assertEqual([answer for answer in answers if "error" in answer], [])

    def test_sigterm_answers_what_was_accepted(self):
        """On a slow disk many calls are under way when the signal comes: answered or refused, never lost."""
        server = self.server("--admin-enabled", "--batching-max-batch=8",
                             environment={"LD_PRELOAD": str(SLOW_DISK), "SLOW_DISK_MS": "20"})
        flood = self.client(server, "flood", "flood", 300, 3, 0)
        eventually(lambda: server.api.admin("listNamespaces").get("namespaces"), 10, "claims")
        time.sleep(0.5)
        self.assertEqual(server.stop(), 0)
        result = json.loads(flood.stdout.readline())
        for reason in filter(None, result["others"].split(", ")):
            # "code 1": gRPC itself drops calls that come between the start of its shutdown and the client's notice.
            self.assertRegex(reason, "^(DRAINING|code 14|code 1) ", result["others"])
        server.start()
        held = int(server.api.admin("getNamespace", name="flood")["namespace"]["held"])
        self.assertEqual(held, int(result["ok"]), "a claim that was refused took effect, or an answer was lost")

    def test_keep_alive_streams_are_answered_and_half_closed(self):
        server = self.server()
        stream = self.client(server, "stream", "stream", 50)
        self.assertEqual(json.loads(stream.stdout.readline()), {"streaming": "50"})
        start = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - start, 5, "an open stream delays the shutdown")
        end = json.loads(stream.stdout.readline())
        self.assertEqual((end["code"], end["errors"]), ("0", "0"), end)
        self.assertEqual(stream.wait(10), 0)

    def test_readiness_goes_first_and_liveness_stays(self):
        """During drain.delay calls are still served, for load balancers that have not noticed."""
        server = self.server("--drain-delay=1s")
        server.signal(signal.SIGTERM)
        status, body = eventually(lambda: (lambda answer: answer[0] == 503 and answer)(server.readiness()), 1,
                                  "the end of readiness")
        self.assertEqual(status, 503)
        self.assertIn("drain", body)
        self.assertEqual(server.get("/livez")[0], 200)
        server.api.claim()
        self.assertEqual(server.wait(10), 0)

    def test_idle_http_connections_do_not_delay_the_shutdown(self):
        server = self.server()
        idle = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(3)]
        idle[0].sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertIn(b"200", idle[0].recv(4096))
        start = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - start, 5)
        for connection in idle:
            connection.close()

    def test_both_signals_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.server(store=f"{number}.db")
            server.api.claim()
            server.signal(number)
            self.assertEqual(server.wait(10), 0)
            self.assertEqual(list(self.directory.glob(f"{number}.db-wal")), [], "the store was not closed")

    def test_signals_while_starting_end_it_as_well(self):
        """A SIGTERM that comes before anything is ready must not be lost."""
        for delay in (0, 0.005, 0.01, 0.02, 0.04, 0.08):
            server = self.server(start=False)
            server.launch()
            time.sleep(delay)
            server.signal(signal.SIGTERM)
            # Before the handler is installed the default action ends the process.
            self.assertIn(server.wait(10), (0, -signal.SIGTERM))

    def test_sigterm_reaches_it_as_pid_1(self):
        """The kernel drops signals that PID 1 has no handler for; a container's server is PID 1."""
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.server(store=f"{number}.db", prefix=PID_NAMESPACE)
            server.api.claim()
            pid = self._only_child(server.pid)
            self.assertIn("NSpid:\t%d\t1" % pid, pathlib.Path(f"/proc/{pid}/status").read_text())
            os.kill(pid, number)
            self.assertEqual(server.wait(10), 0)

    @staticmethod
    def _only_child(pid):
        (child,) = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)

    def test_second_signal_ends_a_slow_drain_at_once(self):
        server = self.server("--drain-delay=30s")
        server.signal(signal.SIGTERM)
        eventually(lambda: server.readiness()[0] == 503, 5, "the drain")
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertNotEqual(server.wait(5), 0)
        self.assertLess(time.monotonic() - start, 2)

    def test_drain_ends_at_its_timeout(self):
        """A disk that does not answer must not keep a server from stopping."""
        server = self.server("--drain-timeout=1s",
                             environment={"LD_PRELOAD": str(SLOW_DISK), "SLOW_DISK_MS": "700"})
        flood = self.client(server, "flood", "flood", 100, 3, 0)
        time.sleep(0.5)
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        server.wait(15)
        self.assertLess(time.monotonic() - start, 8)
        flood.wait(20)


if __name__ == "__main__":
    unittest.main()
