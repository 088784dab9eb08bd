"""Claim, renew, watermark, release: by script over HTTP, by grpcurl through reflection, by command line."""

import json
import unittest

from json_api import incarnation, now_ms
from snowlease_e2e import E2ECase, call_raw, cli, grpcurl

SERVICE = "snowlease.v1.MachineIdService"
HEALTH, SERVING = "/grpc.health.v1.Health/Check", "0801"


class HappyPathTest(E2ECase):
    def test_http_json(self):
        server = self.server()
        api = server.api
        before = now_ms()
        lease = api.claim(namespace="orders", instance="host-1", metadata={"version": "7"})
        self.assertEqual((lease["namespace"], lease["machineId"], lease["instanceId"], lease["token"], lease["source"]),
                         ("orders", 0, "host-1", "1", "LEASE_SOURCE_NEW"))
        self.assertEqual(lease["safeGuardDuration"], "300s")
        self.assertAlmostEqual(int(lease["windowEndMs"]), before + 290_000, delta=5000)
        self.assertLess(int(lease["floorMs"]), before)
        self.assertEqual(int(lease["expiresAtMs"]) - int(lease["storeTimeMs"]), 300_000)
        seconds = float(lease["renewAfter"].rstrip("s"))
        self.assertTrue(30 <= seconds <= 145, seconds)

        last = now_ms()
        renewed = api.renew(lease, last=last)
        self.assertEqual((renewed["token"], int(renewed["watermarkMs"])), ("1", last))
        self.assertGreaterEqual(int(renewed["windowEndMs"]), int(lease["windowEndMs"]))
        self.assertEqual(api.watermark("orders", 0), last)
        self.assertEqual(api.watermark("orders", 0, lease, raise_to=last + 5), last + 5)
        self.assertEqual(api.release(lease, last=last + 10), {})
        self.assertEqual(api.watermark("orders", 0), last + 10)
        successor = api.claim(namespace="orders", instance="host-2", maxWait="1s")
        self.assertEqual((successor["machineId"], successor["token"], successor["source"]),
                         (0, "2", "LEASE_SOURCE_RELEASED"))
        self.assertEqual(int(successor["floorMs"]), last + 10)

    def test_grpcurl_through_reflection(self):
        server = self.server()

        def call(method, body):
            result = grpcurl(server, f"{SERVICE}/{method}", body)
            self.assertEqual(result.returncode, 0, result.stderr)
            return json.loads(result.stdout)
        lease = call("Claim", {"namespace": "orders", "instanceId": "a", "incarnationId": incarnation(),
                               "machineBits": 10, "clientTimeMs": now_ms()})["lease"]
        grant = {key: lease[key] for key in ("namespace", "machine_id", "instance_id", "token")}
        last = now_ms()
        renewed = call("Renew", {**grant, "lastTimestampMs": last, "clientTimeMs": now_ms()})["lease"]
        self.assertEqual((renewed["machine_id"], renewed["watermark_ms"]), (0, str(last)))
        self.assertEqual(call("Release", {**grant, "lastTimestampMs": last}), {})
        read = call("Watermark", {"namespace": "orders", "machineId": 0})
        self.assertEqual(read["watermark_ms"], str(last))
        lost = grpcurl(server, f"{SERVICE}/Renew", {**grant, "clientTimeMs": now_ms()})
        self.assertNotEqual(lost.returncode, 0)
        for text in ("FailedPrecondition", "MACHINE_ID_LOST", '"cause": "RELEASED"', "google.rpc.ErrorInfo"):
            self.assertIn(text, lost.stderr)

    def test_reflection_lists_and_describes_the_services(self):
        server = self.server()
        listed = grpcurl(server, "list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        for name in (SERVICE, "snowlease.v1.AdminService", "grpc.health.v1.Health"):
            self.assertIn(name, listed.stdout)
        self.assertNotIn("duplicate", server.log())
        described = grpcurl(server, "describe", f"{SERVICE}.Claim")
        self.assertIn("rpc Claim ( .snowlease.v1.ClaimRequest ) returns ( .snowlease.v1.ClaimResponse )",
                      described.stdout, described.stderr)

    def test_reflection_can_be_switched_off(self):
        listed = grpcurl(self.server("--grpc-reflection=false"), "list")
        self.assertNotEqual(listed.returncode, 0, listed.stdout)
        self.assertIn("does not support the reflection API", listed.stderr)

    def test_health_answers_for_the_server_and_each_service(self):
        server = self.server()
        for name in (b"", SERVICE.encode(), b"snowlease.v1.AdminService"):
            answer = call_raw(server, HEALTH, b"\x0a" + bytes([len(name)]) + name)
            self.assertEqual((answer["code"], answer["response"]), ("0", SERVING), name)
        self.assertEqual(call_raw(server, HEALTH, b"\x0a\x01x")["code"], "5")

    def test_command_line(self):
        server = self.server("--admin-enabled")

        def call(*arguments):
            result = cli(server, "-o", "json", *arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""), arguments)
            return json.loads(result.stdout)
        lease = call(*CLAIM)["lease"]
        self.assertEqual((lease["machineId"], lease["instanceId"]), (0, "host-1"))
        grant = GRANT + [f"--token={lease['token']}"]
        last = now_ms()
        renewed = call("renew", *grant, f"--last-timestamp={last}")["lease"]
        self.assertEqual(renewed["watermarkMs"], str(last))
        self.assertEqual(call("watermark", "--namespace=orders", "--machine-id=0")["watermarkMs"], str(last))
        call("release", *grant, f"--last-timestamp={last}")
        lost = cli(server, "renew", *grant)
        self.assertEqual(lost.returncode, 3, lost.stderr)
        self.assertIn("RELEASED", lost.stderr)


CLAIM = ["claim", "--namespace=orders", "--instance-id=host-1"]
GRANT = ["--namespace=orders", "--machine-id=0", "--instance-id=host-1"]

if __name__ == "__main__":
    unittest.main()
