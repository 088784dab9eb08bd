"""What the tests of high availability have in common."""

import re
import sys
import time

from ha_databases import make_folder, remove_folder
from ha_load import Load, Watch
from snowlease_e2e import E2ECase, eventually

# Far fewer than one line per refused call (F40).
MOST_LINES_PER_SECOND = 10


class HaCase(E2ECase):
    """A test with a folder for databases, whose nodes are killed at its end."""

    def setUp(self):
        self.folder = make_folder()
        self.addCleanup(remove_folder, self.folder)
        self.services = []

    def node(self, node):
        self.addCleanup(node.kill)
        return node

    def service(self, url, **options):
        server = self.server("--admin-enabled", "--lease-history=1000", "--lease-max-clock-ahead=1m", store=url,
                             timeout=30, **options)
        server.watch = Watch(server)
        server.first_pid = server.pid
        self.addCleanup(server.watch.end)
        self.services.append(server)
        return server

    def load(self, namespaces=("orders", "Orders"), **options):
        load = Load(self.services, namespaces, **options)
        self.addCleanup(load.end)
        return load

    def await_calls(self, load, count, timeout=30):
        """Waits for `count` more acknowledged calls."""
        goal = load.acknowledged() + count
        eventually(lambda: load.acknowledged() >= goal or load.faults, timeout, f"{count} calls")
        self.assertEqual(load.faults, [])

    def await_recovery(self, load, since, what, timeout=30):
        """Waits until calls are acknowledged and says after how many seconds."""
        eventually(lambda: load.first_after(since) or load.faults, timeout, f"recovery after {what}")
        self.assertEqual(load.faults, [])
        self.say(f"{what}: acknowledged again after {load.first_after(since) - since:.2f} s")

    def await_ready(self, timeout=15):
        """Readiness comes back by itself."""
        for server in self.services:
            eventually(lambda: server.readiness()[0] == 200, timeout, "readiness")

    def say(self, text):
        print(f"{self.id().rsplit('.', 1)[-1]}: {text}", file=sys.stderr)

    def finish(self, load, seconds):
        """Ends the load, compares it with the store, and looks at how the services took it."""
        load.end()
        self.await_ready()
        load.check(self, self.services[0].api)
        refusals = dict(load.refusals)
        self.say(f"{load.acknowledged()} calls acknowledged, {len(load.grants)} grants, 0 duplicates; refused: {refusals}")
        for server in self.services:
            server.watch.end()
            self.assertEqual((server.pid, server.process.poll()), (server.first_pid, None), "the service restarted")
            # F47: a database that is away is no reason to restart the service.
            self.assertEqual(set(server.watch.alive), {200})
            lines = len(server.log().splitlines())
            self.assertLess(lines, 60 + MOST_LINES_PER_SECOND * seconds, f"{sum(refusals.values())} refusals were logged")
            self.assertNotRegex(server.log(), "se/cret|se%2Fcret")

    def assert_told(self, load, reason="STORE_UNAVAILABLE"):
        self.assertGreater(load.refusals[reason], 0, dict(load.refusals))


def seconds_since(start):
    return time.monotonic() - start


def codes_in(messages):
    """SQLSTATEs and MariaDB's codes that callers were told."""
    return set(re.findall(r"SQLSTATE (\w{5})|\(code (\d+)\)", "\n".join(messages)))
