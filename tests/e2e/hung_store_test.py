"""A disk that never answers, and what a server that starts says."""

import contextlib
import http.client
import signal
import threading
import time
import unittest

from json_api import ApiError
from snowlease_e2e import E2ECase, SLOW_DISK, eventually, grpcurl

FOREVER_MS = "600000"


class HungStoreTest(E2ECase):
    def test_drain_ends_when_its_timeout_does_though_the_store_hangs(self):
        server = self.server("--drain-timeout=1s", "--store-timeout=1s", "--http-request-timeout=1s")
        server.api.claim()
        server.stop()
        server.environment.update(LD_PRELOAD=str(SLOW_DISK), SLOW_DISK_MS=FOREVER_MS)
        server.start()
        claim = threading.Thread(target=self._claim, args=(server,))
        claim.start()
        time.sleep(0.3)
        start = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(15), 1)
        self.assertLess(time.monotonic() - start, 5)
        self.assertIn("did not answer within drain.timeout", server.log())
        claim.join()

    @staticmethod
    def _claim(server):
        # Told to try again, or cut off: both are right.
        with contextlib.suppress(ApiError, OSError, http.client.HTTPException):
            server.api.claim(instance="hangs")

    def test_start_logs_no_error_and_reflection_works_once(self):
        server = self.server("--log-level=debug")
        eventually(lambda: "serving" in server.log(), 5, "the start")
        self.assertNotRegex(server.log(), "(?i)error|duplicate")
        self.assertIn("snowlease.v1.MachineIdService", grpcurl(server, "list").stdout)
        plain = self.server("--grpc-reflection=false", store="other.db")
        self.assertNotEqual(grpcurl(plain, "list").returncode, 0)


if __name__ == "__main__":
    unittest.main()
