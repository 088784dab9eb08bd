"""Ten times more calls than the server can do, on a disk whose speed is known."""

import concurrent.futures
import json
import time
import unittest

from json_api import ApiError
from snowlease_e2e import E2ECase, SLOW_DISK

# One batch of 8 claims each 20 ms: about 400 a second on every machine.
SETTINGS = ("--batching-max-batch=8", "--batching-max-queue=32", "--admin-enabled")
SLOW = {"LD_PRELOAD": str(SLOW_DISK), "SLOW_DISK_MS": "20"}


class OverloadTest(E2ECase):
    def flood(self, server, rate, seconds, outstanding):
        client = self.client(server, "flood", "flood", rate, seconds, outstanding)
        result = json.loads(client.stdout.readline())
        self.assertEqual(client.wait(10), 0)
        return {key: float(value) if key != "others" else value for key, value in result.items()}

    def test_overload_keeps_goodput_refuses_at_once_and_passes(self):
        server = self.server(*SETTINGS, environment=SLOW)
        peak = self.flood(server, rate=0, seconds=4, outstanding=16)
        self.assertEqual((peak["rejected"], peak["others"]), (0, ""))
        capacity = peak["in_time"] / 4
        self.assertGreater(capacity, 100, "the slow disk is much slower than it should be")

        flood = self.flood(server, rate=int(10 * capacity), seconds=5, outstanding=0)
        self.assertEqual(flood["others"], "", "an overloaded server answers nothing but OVERLOADED")
        self.assertGreater(flood["rejected"], 20 * capacity)
        self.assertGreaterEqual(flood["in_time"] / 5, 0.8 * capacity)
        self.assertEqual(flood["pushed_back"], flood["rejected"])
        self.assertLess(flood["rejected_p50_ms"], 50)
        self.assertLess(flood["rejected_p99_ms"], 250, "generous: client and server share two cores")
        self.assertLess(flood["ok_p99_ms"], 1500)

        after = self.flood(server, rate=0, seconds=2, outstanding=8)
        self.assertEqual((after["rejected"], after["others"]), (0, ""), "no recovery right after the flood")
        self.assertGreaterEqual(after["in_time"] / 2, 0.5 * capacity)
        granted = int(server.api.admin("getNamespace", name="flood")["namespace"]["held"])
        self.assertEqual(granted, peak["ok"] + flood["ok"] + after["ok"])
        self.assertGreaterEqual(server.metric("snowlease_queue_rejections_total"), flood["rejected"])

    def test_overloaded_answer_over_http_says_when_to_come_back(self):
        server = self.server(*SETTINGS, environment=SLOW)
        flood = self.client(server, "flood", "flood", 4000, 4, 0)
        refused = self._claim_until_refused(server)
        self.assertEqual((refused.status, refused.reason), (503, "OVERLOADED"))
        self.assertRegex(refused.retry_delay, r"^[0-9.]+s$")
        self.assertEqual(server.get("/livez")[0], 200)
        self.assertEqual(flood.wait(20), 0)

    def test_probes_are_answered_while_scripts_wait_for_a_stalled_store(self):
        """F47: a disk that hangs makes calls wait, but liveness is about the process only."""
        server = self.server(environment={"LD_PRELOAD": str(SLOW_DISK), "SLOW_DISK_MS": "1500"}, timeout=30)
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            calls = [pool.submit(self._claim_or_reason, server, i) for i in range(64)]
            time.sleep(0.5)
            for _ in range(5):
                start = time.monotonic()
                self.assertEqual(server.get("/livez")[0], 200)
                self.assertLess(time.monotonic() - start, 1)
            reasons = {call.result() for call in calls}
        self.assertLessEqual(reasons, {"granted", "OVERLOADED", "STORE_TIMEOUT"})
        self.assertIn("granted", reasons)

    @staticmethod
    def _claim_or_reason(server, number):
        try:
            server.api.claim(instance=f"i{number}")
            return "granted"
        except ApiError as error:
            return error.reason

    def _claim_until_refused(self, server):
        """In the namespace that is flooded: others have their share."""
        for i in range(1000):
            context = self.assert_reason("OVERLOADED")
            try:
                with context:
                    server.api.claim(namespace="flood", instance=f"i{i}", machineBits=20)
            except AssertionError:
                continue
            return context.exception
        raise AssertionError("a flooded server refused nothing")


if __name__ == "__main__":
    unittest.main()
