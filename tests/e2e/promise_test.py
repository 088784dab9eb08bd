"""Cases in which one of our own designs gave duplicates or needless refusals, through the API."""

import concurrent.futures
import struct
import time
import unittest

import json_api
from json_api import now_ms
from snowlease_e2e import BIN, E2ECase, eventually

SHORT = {"safeGuardDuration": "1s", "machineBits": 1}
SECOND = 1000


class PromiseTest(E2ECase):
    def expired(self, api, namespace, machine_id):
        """Waits until the lease may be taken over."""
        eventually(lambda: api.admin("getLease", namespace=namespace, machineId=machine_id)["lease"].get("expired"), 3,
                   "the expiry")

    def test_comeback_while_waiting_for_a_takeovers_floor_stays_above_the_old_window(self):
        """M01: X's clock is 10.4 s ahead; A takes X's id over, crashes while it waits, comes back at once."""
        api = self.server("--admin-enabled").api
        old = api.claim(instance="X", clientTimeMs=now_ms() + 10_400, **SHORT)
        api.claim(instance="other", machineBits=1)
        self.expired(api, "orders", old["machineId"])
        taken = api.claim(instance="A", maxWait="20s", **SHORT)
        self.assertEqual((taken["machineId"], taken["source"]), (old["machineId"], "LEASE_SOURCE_EXPIRED"))
        self.assertGreaterEqual(int(taken["floorMs"]), int(old["windowEndMs"]))
        back = api.claim(instance="A", maxWait="20s", **SHORT)
        self.assertEqual(back["machineId"], old["machineId"])
        self.assertGreaterEqual(int(back["floorMs"]), int(old["windowEndMs"]))

    def test_successor_of_a_host_that_stepped_ahead_starts_above_what_was_issued(self):
        """M02: the reported timestamp is not clamped below the recorded window."""
        api = self.server().api
        lease = api.claim(instance="ahead")
        issued = now_ms() + 200 * SECOND
        renewed = api.renew(lease, last=issued - 1, clientTimeMs=issued)
        self.assertIn("LEASE_WARNING_CLIENT_CLOCK_AHEAD", renewed["warnings"])
        self.assertAlmostEqual(int(renewed["windowEndMs"]), now_ms() + (60 + 290) * SECOND, delta=5 * SECOND)
        api.release(lease, last=issued)
        successor = api.claim(instance="next", maxWait="300s")
        self.assertEqual((successor["machineId"], int(successor["floorMs"])), (lease["machineId"], issued))

    def test_clean_release_of_a_comeback_does_not_open_the_zombies_window(self):
        """M03: stable; zombie A1, then A2, clean release of A2, then A3."""
        api = self.server().api
        stable = {"instance": "db-0", "stable": True, "maxWait": "600s"}
        zombie = api.claim(**stable)
        second = api.claim(**stable)
        self.assertEqual(second["machineId"], zombie["machineId"])
        self.assertGreaterEqual(int(second["floorMs"]), int(zombie["windowEndMs"]))
        api.release(second, last=0)
        third = api.claim(**stable)
        self.assertGreaterEqual(int(third["floorMs"]), int(zombie["windowEndMs"]))

    def test_late_release_touches_nothing_of_the_new_grant(self):
        """M04: the release was lost, the process claimed again with its own proof, then the release arrives."""
        api = self.server().api
        incarnation, last = json_api.incarnation(), now_ms()
        old = api.claim(instance="p", incarnationId=incarnation)
        new = api.claim(instance="p", maxWait="1s", proof={"incarnationId": incarnation, "reservedUntilMs": last})
        self.assertEqual((new["machineId"], int(new["floorMs"])), (old["machineId"], last))
        for _ in range(2):
            with self.assert_reason("MACHINE_ID_LOST") as lost:
                api.release(old, last=last)
            self.assertEqual(lost.exception.metadata["cause"], "SUPERSEDED")
        renewed = api.renew(new, last=last + 1)
        self.assertGreaterEqual(int(renewed["windowEndMs"]), int(new["windowEndMs"]))

    def test_namespace_that_is_made_again_goes_on_above_its_past(self):
        """M06, M18: deleted with expired leases, twice; ids kept or reserved forbid it."""
        api = self.server("--admin-enabled").api
        floor, token = 0, 0
        for _ in range(2):
            lease = api.claim(namespace="gone", instance="i", maxWait="60s", **SHORT)
            self.assertGreaterEqual(int(lease["floorMs"]), floor)
            self.assertGreater(int(lease["token"]), token)
            floor, token = int(lease["windowEndMs"]), int(lease["token"])
            self.expired(api, "gone", lease["machineId"])
            api.admin("deleteNamespace", name="gone", reason="test")
        kept = api.claim(namespace="gone", instance="k", stable=True, maxWait="60s")
        self.assertGreaterEqual(int(kept["floorMs"]), floor)
        self.assertGreater(int(kept["token"]), token)
        api.release(kept, last=0)
        with self.assert_reason("NAMESPACE_NOT_EMPTY") as refused:
            api.admin("deleteNamespace", name="gone", reason="test")
        self.assertEqual(refused.exception.metadata["kept"], "1")

    def test_failed_start_of_a_stable_instance_gives_its_new_id_back(self):
        """M10: abandoned, its never-used id is anybody's."""
        api = self.server().api
        api.release(api.claim(instance="db-0", stable=True, machineBits=1), abandon=True, last=None)
        self.assertEqual({api.claim(instance=name, machineBits=1)["machineId"] for name in "ab"}, {0, 1})

    def test_every_answered_window_end_is_stored(self):
        """M12: renewals of one lease that share a batch."""
        api = self.server("--admin-enabled").api
        lease = api.claim()
        times = [now_ms() + shift for shift in range(0, 32_000, 1000)]
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            answered = list(pool.map(lambda at: int(api.renew(lease, clientTimeMs=at)["windowEndMs"]), times))
        stored = int(api.admin("getLease", namespace="orders", machineId=0)["lease"]["windowEndMs"])
        self.assertEqual(stored, max(answered))
        for at, end in zip(times, answered):
            self.assertGreaterEqual(end, at + 290 * SECOND)

    def test_proof_is_by_incarnation_never_by_token(self):
        """M16: another grant's state file, whose token happens to be the same, proves nothing."""
        api = self.server().api
        other = json_api.incarnation()
        api.claim(instance="other", incarnationId=other)
        lease = api.claim(instance="db-0", stable=True)
        self.assertEqual(lease["token"], "1")
        false = {"incarnationId": other, "reservedUntilMs": now_ms()}
        with self.assert_reason("WINDOW_OPEN"):
            api.claim(instance="db-0", stable=True, proof=false)
        api.renew(lease)

    def test_slow_boot_clock_does_not_cost_a_stable_instance_its_id(self):
        """M19: the failed start leaves the row as it was."""
        api = self.server("--admin-enabled").api
        lease = api.claim(instance="db-0", stable=True)
        api.release(lease, last=now_ms())
        before = api.admin("getLease", namespace="orders", machineId=0)
        with self.assert_reason("WINDOW_OPEN"):
            api.claim(instance="db-0", stable=True, clientTimeMs=now_ms() - 3600 * SECOND, maxWait="0.5s")
        self.assertEqual(api.admin("getLease", namespace="orders", machineId=0), before)
        self.assertEqual(api.claim(instance="db-0", stable=True, maxWait="1s")["source"], "LEASE_SOURCE_OWN")

    def test_store_clock_that_leapt_for_a_moment_does_not_keep_a_dead_holders_id(self):
        """M21: one more renewal after the correction counts; the id is free at SG after it, not later."""
        shift = self.directory / "shift"
        self._shift(shift, 0)
        server = self.server("--admin-enabled", environment={"LD_PRELOAD": str(BIN / "libshifted_clock.so"),
                                                             "SHIFTED_CLOCK_FILE": str(shift)})
        api = server.api
        lease = api.claim(instance="dead", **SHORT)
        api.claim(instance="other", machineBits=1)
        self._shift(shift, 3_600_000)
        leapt = api.renew(lease)
        self.assertGreater(int(leapt["storeTimeMs"]), now_ms() + 3_500_000, "the clock was not shifted")
        self._shift(shift, 0)
        renewed = api.renew(lease)
        self.assertLessEqual(int(renewed["expiresAtMs"]), now_ms() + SECOND)
        time.sleep(max(0, int(renewed["expiresAtMs"]) - now_ms() + 20) / 1000)
        taken = api.claim(instance="next", maxWait="5s", **SHORT)
        self.assertEqual((taken["machineId"], taken["source"]), (lease["machineId"], "LEASE_SOURCE_EXPIRED"))

    @staticmethod
    def _shift(path, ms):
        with open(path, "r+b" if path.exists() else "wb") as file:
            file.write(struct.pack("=q", ms))


if __name__ == "__main__":
    unittest.main()
