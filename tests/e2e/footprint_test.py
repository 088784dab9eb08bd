"""What a server costs that has many connections and nothing to do."""

import json
import os
import resource
import time
import unittest

from snowlease_e2e import E2ECase, eventually

CONNECTIONS = 1000
MIB = 1 << 20


class FootprintTest(E2ECase):
    def test_thousand_connections_fit_into_64_mib_and_idle_costs_nothing(self):
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        # What a shell gives by default is less than 1,000 connections and the store's files.
        server = self.server(files=(1024, limit[1]))
        client = self.client(server, "connections", "idle", CONNECTIONS)
        self.assertEqual(json.loads(client.stdout.readline()), {"open": str(CONNECTIONS)}, server.log()[-2000:])
        self.assertLess(server.rss_bytes(), 64 * MIB)

        time.sleep(1)  # the last answers' leftovers
        before, start = server.cpu_seconds(), time.monotonic()
        time.sleep(5)
        used = (server.cpu_seconds() - before) / (time.monotonic() - start)
        self.assertLess(used, 0.01, "an idle server uses the processor")
        self.assertLess(server.rss_bytes(), 64 * MIB)
        self.assertEqual(server.readiness()[0], 200)
        client.stdin.close()
        self.assertEqual(client.wait(20), 0)

    def test_descriptors_of_closed_connections_are_given_back(self):
        server = self.server()
        before = self._descriptors(server)
        for _ in range(2):
            client = self.client(server, "connections", "come-and-go", 100)
            self.assertIn("open", json.loads(client.stdout.readline()))
            self.assertGreaterEqual(self._descriptors(server), before + 100)
            client.stdin.close()
            client.wait(20)
        eventually(lambda: self._descriptors(server) < before + 20, 10, "closing of descriptors")

    @staticmethod
    def _descriptors(server):
        return len(os.listdir(f"/proc/{server.pid}/fd"))


if __name__ == "__main__":
    unittest.main()
