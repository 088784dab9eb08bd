"""Servers that stop, crash and come back: what was acknowledged stays."""

import json
import signal
import threading
import time
import unittest

from json_api import ApiError, now_ms
from snowlease_e2e import E2ECase, free_port


class RestartTest(E2ECase):
    def test_leases_survive_a_restart(self):
        server = self.server("--admin-enabled")
        lease = server.api.claim(instance="survivor", metadata={"host": "a"})
        server.api.renew(lease, last=now_ms())
        before = server.api.admin("getLease", namespace="orders", machineId=0)
        self.assertEqual(server.stop(), 0)
        server.start()
        self.assertEqual(server.api.admin("getLease", namespace="orders", machineId=0), before)
        renewed = server.api.renew(lease, last=now_ms())
        self.assertEqual((renewed["token"], renewed["storeId"]), (lease["token"], lease["storeId"]))
        self.assertEqual(server.api.claim(instance="new")["machineId"], 1)

    def test_memory_store_says_that_it_forgets(self):
        """A renewal against a store that lost everything is UNKNOWN, never a success."""
        server = self.server(store="memory:")
        lease = server.api.claim()
        server.stop()
        server.start()
        with self.assert_reason("MACHINE_ID_LOST") as lost:
            server.api.renew(lease)
        self.assertEqual(lost.exception.metadata["cause"], "UNKNOWN")

    def test_dead_holders_id_is_free_at_its_safe_guard_duration_despite_five_restarts(self):
        """F26: not earlier, and restarts do not prolong it. M05: its floor includes the dead holder's window."""
        server = self.server()
        seconds = 3
        lease = server.api.claim(instance="dead", machineBits=1, safeGuardDuration=f"{seconds}s")
        renewed = server.api.renew(lease, last=now_ms())
        self.assertEqual(int(renewed["expiresAtMs"]) - int(renewed["storeTimeMs"]), seconds * 1000)
        server.api.claim(instance="alive", machineBits=1)
        expires = int(renewed["expiresAtMs"])
        for _ in range(5):
            server.stop()
            server.start()
            self.assertLess(now_ms(), expires, "this machine is too slow for the test")
            with self.assert_reason("MACHINE_ID_OVERFLOW"):
                server.api.claim(instance="early", machineBits=1)
        granted = self._claim_until_granted(server, deadline_ms=expires + 1000)
        self.assertEqual((granted["machineId"], granted["source"]), (0, "LEASE_SOURCE_EXPIRED"))
        self.assertGreaterEqual(int(granted["storeTimeMs"]), expires)
        self.assertGreaterEqual(int(granted["floorMs"]), int(renewed["windowEndMs"]))
        with self.assert_reason("MACHINE_ID_LOST") as lost:
            server.api.renew(renewed)
        self.assertEqual(lost.exception.metadata["cause"], "TAKEN_OVER")

    def _claim_until_granted(self, server, deadline_ms):
        while True:
            try:
                return server.api.claim(instance="successor", machineBits=1)
            except ApiError as error:
                self.assertEqual(error.reason, "MACHINE_ID_OVERFLOW")
                self.assertLess(now_ms(), deadline_ms, "the id of the dead holder is not free at SG")
                time.sleep(0.01)

    def test_nothing_acknowledged_is_lost_by_kill_9_under_load(self):
        """A1: three crashes in the midst of claims, renewals and releases."""
        server = self.server("--admin-enabled", ports=(free_port(), free_port()))
        load = self.client(server, "hold", "load", 8)
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(load.stdout))
        reader.start()
        for round_number in range(1, 4):
            self._wait_for_claims(lines, 150 * round_number)
            server.signal(signal.SIGKILL)
            server.wait()
            server.start()
        self._wait_for_claims(lines, 600)
        load.stdin.close()
        self.assertEqual(load.wait(30), 0)
        reader.join()
        self._compare([json.loads(line) for line in lines], server.api.leases("load"))

    def _wait_for_claims(self, lines, count):
        deadline = time.monotonic() + 20
        while sum('"op": "claim"' in line and '"error"' not in line for line in list(lines)) < count:
            self.assertLess(time.monotonic(), deadline, f"no {count} claims; last lines: {lines[-3:]}")
            time.sleep(0.02)

    def _compare(self, answers, records):
        """Every acknowledged answer is in the store, as it was given."""
        granted, released, unsure, last = {}, set(), set(), {}
        for answer in answers:
            instance = answer["instance"]
            if "error" in answer:
                # A release that was done, its answer lost, its id granted again: the repeat is LOST (RELEASED).
                if answer["op"] != "release" or not answer["message"].endswith("RELEASED"):
                    self.assertNotEqual(answer["error"], "MACHINE_ID_LOST", answer)
            elif answer["op"] == "claim":
                granted[instance] = (int(answer["machine_id"]), answer["token"])
            elif answer["op"] == "renew":
                last[instance] = int(answer["last"])
            elif answer["op"] == "releasing":
                unsure.add(instance)
            else:
                released.add(instance)
        self.assertEqual(len(set(granted.values())), len(granted), "a grant was given twice")
        holders = {record["instanceId"]: record for record in records if record["state"] == "LEASE_STATE_HELD"}
        for instance, (machine_id, token) in granted.items():
            if instance in released:
                self.assertNotIn(instance, holders, f"{instance} was released")
            elif instance not in unsure:
                record = holders.get(instance)
                self.assertIsNotNone(record, f"the lease of {instance} is lost")
                self.assertEqual((record["machineId"], record["token"]), (machine_id, token), instance)
                self.assertGreaterEqual(int(record["watermarkMs"]), last.get(instance, 0), instance)
        self.assertGreater(len(released), 50)
        self.assertGreater(len(granted) - len(unsure), 50)

    def test_database_file_is_the_servers_alone(self):
        """Mode 0600 for the file and all that SQLite puts beside it; its directory is made."""
        server = self.server(store="a/b/leases.db")
        server.api.claim()
        files = sorted((self.directory / "a/b").iterdir())
        self.assertIn("leases.db", [file.name for file in files])
        for file in files:
            self.assertEqual(file.stat().st_mode & 0o777, 0o600, file.name)


if __name__ == "__main__":
    unittest.main()
