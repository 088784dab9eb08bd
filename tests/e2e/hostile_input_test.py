"""What no well-behaved client sends: refused field by field, and the server lives on."""

import base64
import json
import os
import socket
import time
import unittest

from json_api import ApiError, incarnation, now_ms
from snowlease_e2e import E2ECase, eventually

CLAIM = "/v1/machine-ids:claim"
LIMIT = 64 * 1024


def claim_body(**fields):
    return {"namespace": "n", "instanceId": "i", "incarnationId": incarnation(), "machineBits": 10,
            "clientTimeMs": now_ms(), **fields}


class HttpInputTest(E2ECase):
    def setUp(self):
        self.running = self.server("--admin-enabled", "--lease-max-clock-ahead=60s")
        self.api = self.running.api

    def tearDown(self):
        """Whatever was sent, it made no namespace and the server still grants."""
        names = [row["name"] for row in self.api.admin("listNamespaces").get("namespaces", [])]
        self.assertEqual(names, [])
        self.assertEqual(self.api.claim()["machineId"], 0)
        self.assertNotIn("INTERNAL", self.running.log())

    def refused(self, path, body):
        with self.assert_reason("INVALID_ARGUMENT") as refused:
            self.api.post(path, body)
        self.assertEqual((refused.exception.status, refused.exception.domain), (400, "snowlease"))
        return refused.exception

    def test_all_violated_fields_of_a_claim_are_told_at_once(self):
        error = self.refused(CLAIM, {
            "namespace": "", "instanceId": "a\u0007", "incarnationId": "AAAA", "machineBits": 31,
            "safeGuardDuration": "-1s", "window": "-2s", "maxWait": "-3s", "comebackMode": 77,
            "proof": {"incarnationId": "AA==", "reservedUntilMs": "-1"}, "metadata": {"k": "v" * 2000}})
        self.assertGreaterEqual(set(error.violations), {
            "namespace", "instance_id", "incarnation_id", "machine_bits", "safe_guard_duration", "window",
            "client_time_ms", "max_wait", "comeback_mode", "proof.incarnation_id", "proof.reserved_until_ms",
            "metadata"})
        for field, description in error.violations.items():
            self.assertGreater(len(description), 5, field)

    def test_all_violated_fields_of_the_other_calls_are_told_at_once(self):
        self.assertGreaterEqual(
            set(self.refused("/v1/machine-ids:renew", {"lastTimestampMs": -1}).violations),
            {"namespace", "machine_id", "instance_id", "token", "last_timestamp_ms", "client_time_ms"})
        self.assertGreaterEqual(
            set(self.refused("/v1/machine-ids:release", {"token": "0"}).violations),
            {"namespace", "machine_id", "instance_id", "token"})
        self.assertGreaterEqual(set(self.refused("/v1/machine-ids:watermark", {"raise": {}}).violations),
                                {"namespace", "machine_id", "raise.instance_id", "raise.token",
                                 "raise.raise_to_ms"})
        self.assertGreaterEqual(set(self.refused("/v1/admin:forceRelease", {}).violations),
                                {"namespace", "machine_id", "expected_token", "reason"})
        self.assertGreaterEqual(
            set(self.refused("/v1/admin:reserveIds", {"reason": "x" * 501, "machineIds": [2**30]}).violations),
            {"namespace", "reason"})

    def test_hostile_names_are_refused_with_the_rule(self):
        for name in ("", "n" * 201, "\u00e9" * 101, "a\u0000b", "tab\t", "line\n", "\u001b[31m", "del\u007f", "c1\u0085"):
            for field, told in (("namespace", "namespace"), ("instanceId", "instance_id")):
                error = self.refused(CLAIM, claim_body(**{field: name}))
                self.assertEqual(list(error.violations), [told], repr(name))
                self.assertTrue("200" in error.violations[told] or "control" in error.violations[told], error)

    def test_durations_are_refused_when_negative_tiny_huge_or_uneven(self):
        for value in ("-1s", "0.5s", "0.999s", "86400.001s", "315576000000s", "1.0005s", "-0.001s"):
            self.assertEqual(list(self.refused(CLAIM, claim_body(safeGuardDuration=value)).violations),
                             ["safe_guard_duration"], value)
        for value in ("-1s", "0s", "0.0001s", "290s", "300s", "315576000000s"):
            self.assertEqual(list(self.refused(CLAIM, claim_body(window=value)).violations), ["window"], value)
        for value in ("-0.001s", "86400.001s", "315576000000s"):
            self.assertEqual(list(self.refused(CLAIM, claim_body(maxWait=value)).violations), ["max_wait"], value)
        for value in ("1", "abc", "1m", "999999999999999s", "NaN"):
            with self.assert_reason("INVALID_ARGUMENT") as refused:
                self.api.post(CLAIM, claim_body(safeGuardDuration=value))
            self.assertIn("safeGuardDuration", refused.exception.message, value)
        self.assertEqual(list(self.refused(CLAIM, claim_body(safeGuardDuration="0s", window="1s")).violations),
                         ["window"])

    def test_client_times_out_of_this_world_are_refused(self):
        for value in (-1, -2**63):
            self.assertEqual(list(self.refused(CLAIM, claim_body(clientTimeMs=value)).violations),
                             ["client_time_ms"])
        for value in (2**63 - 1, now_ms() + 50 * 86_400_000):
            try:
                self.api.post(CLAIM, claim_body(clientTimeMs=value))
                self.fail("a clock far ahead was believed")
            except ApiError as error:
                self.assertIn(error.reason, ("CLOCK_SKEW", "INVALID_ARGUMENT"))
                self.assertIn("client_time_ms", error.message)

    def test_timestamps_of_a_finer_unit_do_not_poison_a_lease_without_window_end(self):
        """Without a window end nothing else bounds them, and the id would never be granted again."""
        lease = {"namespace": "n", "machineId": 0, "instanceId": "i", "token": "1", "clientTimeMs": now_ms()}
        for last in (2**63 - 1, time.time_ns()):
            for path in ("/v1/machine-ids:renew", "/v1/machine-ids:release"):
                body = {key: value for key, value in lease.items() if "release" not in path or key != "clientTimeMs"}
                self.assertEqual(list(self.refused(path, {**body, "lastTimestampMs": last}).violations),
                                 ["last_timestamp_ms"])
            raised = {"instanceId": "i", "token": "1", "raiseToMs": last}
            self.assertEqual(list(self.refused("/v1/machine-ids:watermark",
                                               {"namespace": "n", "machineId": 0, "raise": raised}).violations),
                             ["raise.raise_to_ms"])

    def test_wrong_types_and_unknown_fields_are_refused_by_name(self):
        for body, name in ((claim_body(machineBits="ten"), "machine_bits"), (claim_body(machineBits=-1), "machine_bits"),
                           (claim_body(machineBits=2**32), "machine_bits"),
                           (claim_body(machineBits=1.5), "machine_bits"), (claim_body(namespace=["a"]), "namespace"),
                           (claim_body(incarnationId="not base64!"), "incarnation_id"),
                           (claim_body(clientTimeMs="9223372036854775808"), "client_time_ms"),
                           (claim_body(stable="maybe"), "stable"), (claim_body(machine_bit=3), "machine_bit"),
                           (claim_body(machnieBits=3), "machnieBits")):
            self.assertIn(name, self.refused(CLAIM, body).message, body)

    def test_bodies_that_are_no_message_are_refused(self):
        for body in ("", "{", "[]", "null", "42", "\"text\"", "{}}", "{\"namespace\":}", "<xml/>", "{'a': 1}",
                     b"\xff\xfe\x00", b"{\"namespace\": \"\xff\xfe\"}", b"{\"namespace\": \"\xed\xa0\x80\"}",
                     "[" * 30_000, "{\"proof\":" * 6_000, "{\"metadata\":{\"a\":" + "{\"b\":" * 3000):
            with self.assert_reason("INVALID_ARGUMENT"):
                self.api.post(CLAIM, body)

    def test_oversized_bodies_are_refused_with_the_limit(self):
        for size in (LIMIT + 1, 2 << 20):
            body = json.dumps(claim_body(metadata={"a": ""}))
            body = body.replace('"a": ""', '"a": "' + "x" * size + '"')
            status, _, text = self.api.raw(CLAIM, body)
            self.assertIn(status, (400, 413))
            self.assertIn("65536 bytes", json.loads(text)["message"])
        status = self._send_raw(b"POST /v1/machine-ids:claim HTTP/1.1\r\nHost: localhost\r\n"
                                b"Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{")
        self.assertRegex(status, rb"^HTTP/1.1 4\d\d")

    def _send_raw(self, request, timeout=5):
        with socket.create_connection(("127.0.0.1", self.api.port), timeout) as connection:
            connection.sendall(request)
            return connection.recv(4096)

    def test_pages_and_their_tokens_are_checked(self):
        for size in (-1, 1001, 2**31 - 1, -2**31):
            self.assertEqual(list(self.refused("/v1/admin:listNamespaces", {"pageSize": size}).violations),
                             ["page_size"])
        for token in ("x", "AAAA", "%00", base64.b64encode(b"\xff" * 40).decode(), "A" * 20_000, "\u0000"):
            for path, body in (("/v1/admin:listNamespaces", {}), ("/v1/admin:listLeases", {"namespace": "n"})):
                with self.assert_reason("PAGE_TOKEN_INVALID") as refused:
                    self.api.post(path, {**body, "pageToken": token})
                self.assertIn("without it", refused.exception.message)

    def test_other_sites_and_other_host_names_are_refused(self):
        """A page of another site in a browser on this host, and a name that was rebound to it."""
        body = json.dumps(claim_body())
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Host": "evil.example"}, {"Host": f"evil.example:{self.api.port}"}, {"Host": ""},
                        {"Host": "127.0.0.1.evil.example"}):
            status, _, text = self.api.raw(CLAIM, body, headers)
            self.assertIn(status, (400, 403, 421), headers)
            self.assertTrue(json.loads(text)["message"], headers)
        for path in (CLAIM, "/v1/admin:listNamespaces"):
            status, headers, _ = self.api.raw(path, None, {"Origin": "http://evil.example"}, method="OPTIONS")
            self.assertNotEqual(status, 200)
            self.assertNotIn("Access-Control-Allow-Origin", headers)
        status, _, _ = self.api.raw(CLAIM, body, {"Content-Type": "text/plain", "Origin": "http://evil.example"})
        self.assertIn(status, (400, 403, 415))

    def test_own_names_of_the_host_are_served(self):
        for host in ("localhost", f"localhost:{self.api.port}", f"127.0.0.1:{self.api.port}", "[::1]"):
            status, _, text = self.api.raw("/v1/admin:listNamespaces", "{}", {"Host": host})
            self.assertEqual(status, 200, (host, text))

    def test_unknown_paths_and_methods_are_answered_as_such(self):
        for method, path, wanted in (("GET", CLAIM, (404, 405)), ("POST", "/v1/machine-ids:grab", (404,)),
                                     ("POST", "/v1/admin:", (404,)), ("POST", "/", (404, 405)),
                                     ("POST", "/v1/admin:dropDatabase", (404,)), ("DELETE", CLAIM, (404, 405)),
                                     ("GET", "/../../etc/passwd", (400, 404)), ("GET", "/%00", (400, 404))):
            status, _, _ = self.api.raw(path, None, method=method)
            self.assertIn(status, wanted, (method, path))

    def test_silent_connections_do_not_keep_probes_from_their_answer(self):
        silent = [socket.create_connection(("127.0.0.1", self.api.port)) for _ in range(64)]
        try:
            start = time.monotonic()
            eventually(lambda: self.running.readiness()[0] == 200, 20, "readiness behind silent connections")
            self.assertLess(time.monotonic() - start, 15)
        finally:
            for connection in silent:
                connection.close()

    def test_broken_requests_leave_the_server_alive(self):
        for request in (b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"\r\n" * 100, os.urandom(2000),
                        b"POST " + CLAIM.encode() + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
                        b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: %s\r\n" % (i, b"y" * 900) for i in range(200)) + b"\r\n"):
            try:
                self._send_raw(request, timeout=0.5)
            except OSError:
                pass
        self.assertEqual(self.running.get("/livez")[0], 200)
        self.assertIsNone(self.running.process.poll())


if __name__ == "__main__":
    unittest.main()
