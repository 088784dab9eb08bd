"""How full a namespace gets and what comes then, through the API."""

import concurrent.futures
import unittest

from json_api import now_ms
from snowlease_e2e import E2ECase, eventually


class CapacityTest(E2ECase):
    def test_full_namespace_overflows_and_the_released_id_goes_to_the_next(self):
        """F27: never wraps; the next claim gets exactly the released id."""
        api = self.server().api
        leases = [api.claim(instance=f"i{i}", machineBits=2) for i in range(4)]
        self.assertEqual(sorted(lease["machineId"] for lease in leases), [0, 1, 2, 3])
        for attempt in range(3):
            with self.assert_reason("MACHINE_ID_OVERFLOW"):
                api.claim(instance=f"late{attempt}", machineBits=2)
        api.release(leases[2], last=now_ms() - 1000)
        successor = api.claim(instance="next", machineBits=2)
        self.assertEqual(successor["machineId"], leases[2]["machineId"])
        self.assertEqual(successor["source"], "LEASE_SOURCE_RELEASED")
        self.assertEqual(int(successor["token"]), int(leases[2]["token"]) + 1)
        with self.assert_reason("MACHINE_ID_OVERFLOW"):
            api.claim(instance="too-late", machineBits=2)

    def test_overflow_says_what_is_full_and_since_when_to_come_back(self):
        """F30: the error names namespace, size and held."""
        api = self.server("--admin-enabled").api
        api.claim(namespace="tiny", instance="a", machineBits=1, safeGuardDuration="30s")
        api.admin("reserveIds", namespace="tiny", machineIds=[1], reason="kept for a test")
        with self.assert_reason("MACHINE_ID_OVERFLOW") as refused:
            api.claim(namespace="tiny", instance="b", machineBits=1)
        error = refused.exception
        self.assertEqual(error.status, 429)
        self.assertEqual((error.metadata["namespace"], error.metadata["size"], error.metadata["held"],
                          error.metadata["reserved"]), ("tiny", "2", "1", "1"))
        self.assertAlmostEqual(int(error.metadata["next_expiry_ms"]), now_ms() + 30_000, delta=10_000)
        for text in ("tiny", "2", "1 held", "1 reserved"):
            self.assertIn(text, error.message)

    def test_sizes_of_12_and_20_bits_work_and_stay(self):
        """F30, F04: the first claim fixes the size; fewer bits are served, more are refused."""
        server = self.server("--admin-enabled")
        api = server.api
        for bits in (12, 20):
            namespace = f"sized-{bits}"
            self.assertEqual(api.claim(namespace=namespace, instance="a", machineBits=bits)["machineId"], 0)
            self.assertEqual(api.claim(namespace=namespace, instance="b", machineBits=3)["machineId"], 1)
            with self.assert_reason("NAMESPACE_POLICY") as refused:
                api.claim(namespace=namespace, instance="c", machineBits=bits + 1)
            self.assertIn(str(bits), refused.exception.message)
            row = api.admin("getNamespace", name=namespace)["namespace"]
            self.assertEqual((row["machineBits"], row["capacity"], row["held"]), (bits, str(2**bits), "2"))

    def test_fewer_bits_never_get_an_id_that_does_not_fit(self):
        """F04: machine ids at or above 2^bits are never granted."""
        api = self.server().api
        for i in range(2):
            api.claim(instance=f"small{i}", machineBits=4)
        with self.assert_reason("MACHINE_ID_OVERFLOW"):
            api.claim(instance="one-bit", machineBits=1)
        self.assertEqual(api.claim(instance="four-bits", machineBits=4)["machineId"], 2)

    def test_machine_ids_out_of_range_are_refused_by_name(self):
        """F04: bits 0 and 31 of a claim, and an id that no namespace can have."""
        api = self.server().api
        for bits in (0, 31, 4294967295):
            with self.assert_reason("INVALID_ARGUMENT") as refused:
                api.claim(machineBits=bits)
            self.assertEqual(list(refused.exception.violations), ["machine_bits"])
        lease = api.claim()
        with self.assert_reason("INVALID_ARGUMENT") as refused:
            api.renew({**lease, "machineId": 2**30})
        self.assertEqual(list(refused.exception.violations), ["machine_id"])

    def test_starting_and_stopping_again_and_again_uses_one_id(self):
        """F28: cleanly released ids are reused, rows do not grow."""
        api = self.server("--admin-enabled").api
        for _ in range(300):
            lease = api.claim(instance="worker")
            self.assertEqual(lease["machineId"], 0)
            api.release(lease, last=now_ms() - 1)
        self.assertEqual(int(lease["token"]), 300)
        self.assertEqual([record["machineId"] for record in api.leases("orders")], [0])

    def test_parallel_claims_share_out_expired_leases(self):
        """F34: 50 claims at once on 100 expired leases: 50 distinct ids, no OVERFLOW."""
        api = self.server("--admin-enabled").api
        with concurrent.futures.ThreadPoolExecutor(25) as pool:
            dead = list(pool.map(lambda i: api.claim(instance=f"dead{i}", machineBits=7, safeGuardDuration="1s"),
                                 range(100)))
            api.admin("reserveIds", namespace="orders", machineIds=list(range(100, 128)), reason="a test")
            eventually(lambda: api.admin("getNamespace", name="orders")["namespace"]["expired"] == "100", 5, "expiry")
            heirs = list(pool.map(lambda i: api.claim(instance=f"heir{i}", machineBits=7, maxWait="5s"), range(50)))
        self.assertEqual({lease["source"] for lease in heirs}, {"LEASE_SOURCE_EXPIRED"})
        self.assertEqual(len({lease["machineId"] for lease in heirs}), 50)
        self.assertEqual(len({lease["machineId"] for lease in dead}), 100)

    def test_no_caller_of_many_sees_that_the_database_is_busy(self):
        """F36: 50 threads claim, renew and release."""
        server = self.server()
        load = self.client(server, "hold", "busy", 50)
        lines = []
        for line in load.stdout:
            lines.append(line)
            if len(lines) == 5000:
                load.stdin.close()
        self.assertEqual(load.wait(20), 0)
        self.assertEqual([line for line in lines if '"error"' in line], [])

    def test_watermark_is_never_lowered(self):
        """F15: a smaller timestamp never lowers it; a seconds-based clock reports milliseconds."""
        api = self.server().api
        lease = api.claim()
        high = now_ms()
        api.renew(lease, last=high)
        for lower in (high - 1, high // 1000 * 1000 - 5000, high // 1000, 0):
            api.renew(lease, last=lower)
            self.assertEqual(api.watermark("orders", 0, lease, raise_to=lower), high)
        api.release(lease, last=high - 10_000)
        self.assertEqual(api.watermark("orders", 0), high)

    def test_deleting_a_namespace_leaves_the_longer_name(self):
        """F15: clearing `a` leaves `ab`, `a.b`, `a__b`, `A` and `a%`."""
        api = self.server("--admin-enabled").api
        others = ("ab", "a.b", "a__b", "A", "a%")
        for name in others:
            api.claim(namespace=name, instance="x")
        lease = api.claim(namespace="a", instance="x")
        with self.assert_reason("NAMESPACE_NOT_EMPTY"):
            api.admin("deleteNamespace", name="a", reason="a test")
        api.release(lease)
        api.admin("deleteNamespace", name="a", reason="a test")
        with self.assert_reason("NOT_FOUND"):
            api.admin("getNamespace", name="a")
        for name in others:
            self.assertEqual(api.admin("getNamespace", name=name)["namespace"]["held"], "1", name)


if __name__ == "__main__":
    unittest.main()
