"""Who an instance is: twins, comebacks and lost leases, through the API."""

import concurrent.futures
import unittest

import json_api
from json_api import now_ms
from snowlease_e2e import E2ECase


class IdentityTest(E2ECase):
    def test_identical_processes_with_instance_ids_of_their_own_get_distinct_ids(self):
        """F01: 200 containers of one image start at once; F37: on an empty namespace."""
        api = self.server().api

        def start(number):
            return api.claim(instance=f"10.0.0.1:1:{number:032x}")["machineId"]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            ids = list(pool.map(start, range(200)))
        self.assertEqual(sorted(ids), list(range(200)))

    def test_nobody_gets_an_id_without_an_identity(self):
        """F02: no default instance id, no machine id 0 by default."""
        api = self.server("--admin-enabled").api
        for field in ("instanceId", "incarnationId", "machineBits"):
            with self.assert_reason("INVALID_ARGUMENT"):
                api.claim(**{field: None})
        self.assertEqual(api.admin("listNamespaces").get("namespaces", []), [])

    def test_twin_with_the_same_identity_supersedes_and_both_are_told(self):
        """M15 and F01: two live processes share one instance id."""
        api = self.server().api
        older = api.claim(instance="twin")
        self.assertFalse(older.get("supersededLiveLease", False))
        younger = api.claim(instance="twin")
        self.assertTrue(younger["supersededLiveLease"])
        self.assertNotEqual((older["machineId"], older["token"]), (younger["machineId"], younger["token"]))
        for _ in range(2):
            with self.assert_reason("MACHINE_ID_LOST") as lost:
                api.renew(older, last=now_ms())
            self.assertEqual(lost.exception.metadata["cause"], "SUPERSEDED")
            self.assertEqual(lost.exception.status, 400)
        api.renew(younger)

    def test_claim_repeated_after_a_lost_answer_gives_the_same_grant(self):
        """F21: same incarnation, same token, one row."""
        api = self.server("--admin-enabled").api
        incarnation = json_api.incarnation()
        first = api.claim(incarnationId=incarnation)
        again = api.claim(incarnationId=incarnation)
        self.assertEqual((again["machineId"], again["token"], again["floorMs"]),
                         (first["machineId"], first["token"], first["floorMs"]))
        renewed = api.renew(first, last=now_ms())
        self.assertGreaterEqual(int(renewed["windowEndMs"]), int(again["windowEndMs"]))
        self.assertEqual(api.renew(first, last=now_ms())["token"], first["token"])
        with self.assert_reason("INCARNATION_REUSED"):
            api.claim(incarnationId=incarnation)
        self.assertEqual(len(api.leases("orders")), 1)

    def test_renewal_that_arrives_after_the_release_revives_nothing(self):
        """F22: the lease stays free."""
        api = self.server("--admin-enabled").api
        lease = api.claim()
        api.release(lease, last=now_ms())
        api.release(lease, last=now_ms())
        with self.assert_reason("MACHINE_ID_LOST") as lost:
            api.renew(lease)
        self.assertEqual(lost.exception.metadata["cause"], "RELEASED")
        self.assertEqual(api.leases("orders")[0]["state"], "LEASE_STATE_FREE")

    def test_restart_without_proof_moves_and_with_proof_comes_back(self):
        """M09: a restart runs at once on another id; a proof keeps the own one."""
        api = self.server().api
        incarnation = json_api.incarnation()
        first = api.claim(instance="pod-1", incarnationId=incarnation)
        last = now_ms()
        back = api.claim(instance="pod-1", maxWait="1s",
                         proof={"incarnationId": incarnation, "reservedUntilMs": last})
        self.assertEqual((back["machineId"], back["source"]), (first["machineId"], "LEASE_SOURCE_OWN"))
        self.assertGreaterEqual(int(back["floorMs"]), last)
        moved = api.claim(instance="pod-1")
        self.assertNotEqual(moved["machineId"], first["machineId"])
        with self.assert_reason("WINDOW_OPEN") as wait:
            api.claim(instance="pod-1", comebackMode="COMEBACK_MODE_KEEP")
        self.assertGreater(int(wait.exception.metadata["until"]), now_ms())
        self.assertIn("COMEBACK_MODE_MOVE", wait.exception.message)

    def test_stable_instance_keeps_its_id_from_others(self):
        """S1: released or expired, the id of a stable instance is nobody else's."""
        api = self.server().api
        stable = api.claim(instance="db-0", stable=True, machineBits=1)
        api.release(stable, last=now_ms() - 10)
        self.assertEqual(api.claim(instance="other", machineBits=1)["machineId"], 1)
        with self.assert_reason("MACHINE_ID_OVERFLOW"):
            api.claim(instance="third", machineBits=1)
        back = api.claim(instance="db-0", stable=True, machineBits=1)
        self.assertEqual((back["machineId"], back["source"]), (0, "LEASE_SOURCE_OWN"))

    def test_shorter_durations_do_not_take_longer_leases(self):
        """F25: the holder's own safe guard duration decides."""
        api = self.server().api
        api.claim(instance="patient", machineBits=1, safeGuardDuration="300s")
        api.claim(instance="other", machineBits=1, safeGuardDuration="300s")
        with self.assert_reason("MACHINE_ID_OVERFLOW"):
            api.claim(instance="hasty", machineBits=1, safeGuardDuration="1s")

    def test_lease_without_expiry_warns_and_needs_an_operator(self):
        api = self.server("--admin-enabled").api
        lease = api.claim(instance="eternal", safeGuardDuration="0s")
        self.assertEqual(lease["warnings"], ["LEASE_WARNING_NEVER_EXPIRES"])
        self.assertNotIn("windowEndMs", lease)
        self.assertNotIn("expiresAtMs", lease)
        self.assertNotIn("renewAfter", lease)
        forced = api.admin("forceRelease", namespace="orders", machineId=lease["machineId"],
                           expectedToken=lease["token"], reason="a test")
        self.assertAlmostEqual(int(forced["grantableFromMs"]), now_ms() + 24 * 3_600_000, delta=60_000)
        with self.assert_reason("MACHINE_ID_LOST") as lost:
            api.renew(lease)
        self.assertEqual(lost.exception.metadata["cause"], "REVOKED")

    def test_forced_release_repeated_never_hits_the_next_holder(self):
        """M13: with the same expected token."""
        api = self.server("--admin-enabled").api
        lease = api.claim(instance="first", safeGuardDuration="1s")
        force = {"namespace": "orders", "machineId": 0, "expectedToken": lease["token"], "reason": "a test"}
        api.admin("forceRelease", **force)
        successor = api.claim(instance="second", maxWait="5s")
        self.assertEqual(successor["machineId"], 0)
        self.assertGreaterEqual(int(successor["floorMs"]), int(lease["windowEndMs"]))
        try:
            api.admin("forceRelease", **force)
        except json_api.ApiError as error:
            self.assertEqual(error.reason, "MACHINE_ID_LOST")
        api.renew(successor)


if __name__ == "__main__":
    unittest.main()
