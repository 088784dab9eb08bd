"""snowlease-server fence: a restored backup serves again without giving any timestamp out twice."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

from json_api import ApiError, now_ms
from snowlease_e2e import E2ECase, SERVER, clean_environment, die_with_parent, eventually, run_server

SAFE_GUARD = "2s"
AHEAD_MS = 3000
PID_NAMESPACE = ("unshare", *(() if os.geteuid() == 0 else ("--user", "--map-root-user")), "--pid", "--fork",
                 "--kill-child", "--mount-proc")


class FenceTest(E2ECase):
    @property
    def database(self):
        return self.directory / "leases.db"

    def fence(self, *arguments, store=None):
        return run_server("fence", f"--store-url={store or f'sqlite:{self.database}'}", *arguments)

    def back_up(self):
        copy = self.directory / "backup.db"
        with contextlib.closing(sqlite3.connect(self.database)) as source, \
                contextlib.closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        return copy

    def restore(self, copy):
        for suffix in ("-wal", "-shm"):
            pathlib.Path(f"{self.database}{suffix}").unlink(missing_ok=True)
        copy.replace(self.database)

    def claim_when_possible(self, server, **claim):
        """The first grant; until then CLOCK_BEHIND is all that is said."""
        deadline = time.monotonic() + 15
        while True:
            try:
                return server.api.claim(**claim)
            except ApiError as error:
                self.assertEqual(error.reason, "CLOCK_BEHIND")
                self.assertLess(time.monotonic(), deadline, "the fence does not open")
                time.sleep(0.02)

    def test_restored_backup_grants_nothing_that_was_granted_after_it(self):
        server = self.server("--admin-enabled")
        old = server.api.claim(instance="old", machineBits=1, safeGuardDuration=SAFE_GUARD)
        copy = self.back_up()
        windows = [server.api.renew(old, last=now_ms())]
        windows.append(server.api.claim(instance="later", machineBits=1, safeGuardDuration=SAFE_GUARD))
        windows.append(server.api.claim(namespace="new", instance="later", safeGuardDuration=SAFE_GUARD))
        later = windows[1]
        self.assertEqual(server.stop(), 0)
        self.restore(copy)
        result = self.fence(f"--ahead={AHEAD_MS}ms")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("1 namespace, 1 lease, 1 of them were held", result.stdout)
        floor = int(re.search(r"granted up to \S+Z \((\d+)\)", result.stdout).group(1))
        self.assertLessEqual(abs(floor - AHEAD_MS - now_ms()), 5000)
        last = max(int(lease["windowEndMs"]) for lease in windows)
        self.assertGreater(floor, last, "this machine is too slow for the test")

        server.start()
        for lease, cause in ((old, "REVOKED"), (later, "UNKNOWN")):
            with self.assert_reason("MACHINE_ID_LOST") as lost:
                server.api.renew(lease)
            self.assertEqual(lost.exception.metadata["cause"], cause)
        for claim in ({"machineBits": 1}, {"machineBits": 1}, {"namespace": "new"}):
            granted = self.claim_when_possible(server, instance=f"next{now_ms()}", **claim)
            self.assertGreaterEqual(int(granted["floorMs"]), floor)
            self.assertGreater(int(granted["token"]), 1_000_000)

    def test_running_server_keeps_its_store_from_being_fenced(self):
        server = self.server()
        lease = server.api.claim()
        self.assert_refused(self.fence("--ahead=1h"), "leases.db is in use by process")
        server.api.renew(lease)

    def test_bad_durations_are_told_in_one_line(self):
        for arguments, text in (((), "needs --ahead"), (("--ahead",), "needs --ahead"), (("--ahead=",), "needs --ahead"),
                                (("--ahead=5",), "\"5\" is no duration"), (("--ahead", "-5s"), "is no duration"),
                                (("--ahead=0",), "above 0"), (("--ahead=721h",), "30 days"),
                                (("--ahead=1h", "--ahead=2h"), "given twice")):
            result = self.fence(*arguments)
            self.assert_refused(result, "--ahead", text, code=2)
            self.assertEqual(len(result.stderr.splitlines()), 2, result.stderr)
        self.assertFalse(self.database.exists())
        self.assert_refused(run_server("--ahead=1h"), "--ahead", code=2)

    def test_store_that_was_not_restored_is_not_made(self):
        self.assert_refused(self.fence("--ahead=1h"), "migrate")
        self.assert_refused(self.fence("--ahead=1h", store="memory:"), "memory:", "--store-url")


class InterruptTest(E2ECase):
    """Commands that wait end at the first signal, also where a parent blocked or ignored signals, and as PID 1."""

    def start(self, *arguments, prefix=(), blocked=False):
        parent = die_with_parent()

        def prepare():
            parent()
            if blocked:
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        process = subprocess.Popen([*prefix, str(SERVER), *arguments], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=clean_environment(),
                                   cwd=self.directory, preexec_fn=prepare)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def assert_ends(self, process, number, pid=None):
        begin = time.monotonic()
        os.kill(pid or process.pid, number)
        self.assertEqual(process.wait(10), 128 + number)
        self.assertLess(time.monotonic() - begin, 1)

    @contextlib.contextmanager
    def locked_database(self):
        """A store whose every reader and writer waits for a lock."""
        database = self.directory / "leases.db"
        self.assertEqual(run_server("migrate", f"--store-url=sqlite:{database}").returncode, 0)
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as holder:
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
            yield database

    @staticmethod
    def has_open(pid, name):
        with contextlib.suppress(OSError):
            return any(os.readlink(f"/proc/{pid}/fd/{file}").endswith(name) for file in os.listdir(f"/proc/{pid}/fd"))
        return False

    def test_migrate_and_fence_end_while_they_wait_for_the_store(self):
        for command in (("migrate",), ("fence", "--ahead=1h")):
            for number in (signal.SIGTERM, signal.SIGINT):
                with self.subTest(command=command, signal=number), self.locked_database() as database:
                    process = self.start(*command, f"--store-url=sqlite:{database}", blocked=True)
                    eventually(lambda: self.has_open(process.pid, "leases.db"), 5, "the wait for the store")
                    self.assert_ends(process, number)

    def test_migrate_ends_as_pid_1(self):
        with self.locked_database() as database:
            process = self.start("migrate", f"--store-url=sqlite:{database}", prefix=PID_NAMESPACE)
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            child = int(eventually(lambda: children.read_text().split(), 5, "the program")[0])
            eventually(lambda: self.has_open(child, "leases.db"), 5, "the wait for the store")
            self.assert_ends(process, signal.SIGTERM, pid=child)

    def test_healthcheck_ends_while_it_waits_for_the_server(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            process = self.start("healthcheck", f"--grpc-listen=127.0.0.1:{silent.getsockname()[1]}", blocked=True)
            connection, _ = silent.accept()
            with connection:
                self.assert_ends(process, signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
