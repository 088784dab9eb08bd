"""Hostile input on the gRPC port: the same refusals, and bytes that are no message."""

import json
import os
import socket
import unittest

from json_api import now_ms
from snowlease_e2e import E2ECase, call_raw, grpcurl

CLAIM = "/snowlease.v1.MachineIdService/Claim"
INVALID_ARGUMENT, RESOURCE_EXHAUSTED, UNIMPLEMENTED, INTERNAL = "3", "8", "12", "13"


def field(number, value):
    """One protobuf field: bytes or a varint."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value):
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def claim(namespace=b"n", instance=b"i", incarnation_id=b"0123456789abcdef", bits=10):
    return (field(1, namespace) + field(2, instance) + field(3, incarnation_id) + field(4, bits)
            + field(8, now_ms()))


class GrpcInputTest(E2ECase):
    def setUp(self):
        self.running = self.server("--admin-enabled")

    def tearDown(self):
        self.assertEqual(self.running.api.admin("listNamespaces").get("namespaces", []), [])
        self.assertEqual(self.running.api.claim()["machineId"], 0)

    def send(self, message, method=CLAIM):
        return call_raw(self.running, method, message)

    def test_hostile_bytes_in_names_are_refused(self):
        for name in (b"", b"n" * 201, b"a\0b", b"a\nb", b"\x1b[2J", b"\x7f"):
            for answer, told in ((self.send(claim(namespace=name)), "namespace"),
                                 (self.send(claim(instance=name)), "instance_id")):
                self.assertEqual((answer["code"], answer["reason"]), (INVALID_ARGUMENT, "INVALID_ARGUMENT"))
                self.assertIn(told, answer["message"], name)

    def test_invalid_utf8_is_refused(self):
        """Protobuf itself does not parse such a string."""
        for name in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"caf\xe9"):
            answer = self.send(claim(namespace=name))
            self.assertIn(answer["code"], (INVALID_ARGUMENT, INTERNAL), name)

    def test_numbers_out_of_range_are_refused_by_field(self):
        for bits in (0, 31, 2**32 - 1):
            answer = self.send(claim(bits=bits))
            self.assertEqual(answer["reason"], "INVALID_ARGUMENT")
            self.assertIn("machine_bits", answer["message"])
        for size in (0, 15, 17, 1000):
            self.assertIn("incarnation_id", self.send(claim(incarnation_id=b"x" * size))["message"])

    def test_oversized_and_broken_messages_are_refused(self):
        answer = self.send(claim() + field(99, b"x" * 65536))
        self.assertEqual(answer["code"], RESOURCE_EXHAUSTED)
        for message in (b"\xff" * 20, b"\x0a\xff\xff\xff\x7f", b"\x0a\x05ab", field(1, b"n")[:-1]):
            self.assertIn(self.send(message)["code"], (INVALID_ARGUMENT, INTERNAL), message)
        self.assertEqual(self.send(b"")["reason"], "INVALID_ARGUMENT")

    def test_methods_that_do_not_exist_are_refused_by_code(self):
        for method in ("/snowlease.v1.MachineIdService/Grab", "/nobody.Nothing/Never"):
            self.assertEqual(self.send(b"", method)["code"], UNIMPLEMENTED)

    def test_refusals_carry_all_violations_in_their_details(self):
        result = grpcurl(self.running, "snowlease.v1.MachineIdService/Claim",
                         {"machineBits": 31, "safeGuardDuration": "-1s"})
        self.assertNotEqual(result.returncode, 0)
        for text in ("InvalidArgument", "INVALID_ARGUMENT", "google.rpc.BadRequest", '"namespace"', '"instance_id"',
                     '"incarnation_id"', '"machine_bits"', '"safe_guard_duration"', '"client_time_ms"'):
            self.assertIn(text, result.stderr)

    def test_too_many_and_bad_renewals_on_a_stream_are_answered_one_by_one(self):
        """One bad renewal never ends the stream."""
        good = {"namespace": "x", "machineId": 0, "instanceId": "i", "token": "1", "clientTimeMs": now_ms()}
        messages = [{"renewals": [{"tag": "1", "renew": good}, {"tag": "2", "renew": {}}, {"tag": "3"}]},
                    {"renewals": [{"tag": "4", "renew": {**good, "namespace": "n" * 201}}]}]
        result = grpcurl(self.running, "snowlease.v1.MachineIdService/KeepAlive",
                         "\n".join(json.dumps(message) for message in messages))
        self.assertEqual(result.returncode, 0, result.stderr)
        decoder, text, answers = json.JSONDecoder(), result.stdout.strip(), {}
        while text:
            message, end = decoder.raw_decode(text)
            text = text[end:].strip()
            answers.update({entry["tag"]: entry["error"]["code"] for entry in message["results"]})
        self.assertEqual(answers, {"1": 9, "2": 3, "3": 3, "4": 3})

    def test_bytes_that_are_no_http2_leave_the_server_alive(self):
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for data in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00", os.urandom(3000), preface,
                     preface + b"\0\0\0\x04\0\0\0\0\0" + b"\xff" * 500,
                     preface + b"\xff\xff\xff\x00\0\0\0\0\x01" + b"x" * 1000):
            with socket.create_connection(("127.0.0.1", self.running.grpc_port), 2) as connection:
                connection.sendall(data)
                connection.settimeout(0.2)
                try:
                    connection.recv(4096)
                except OSError:
                    pass
        self.assertIsNone(self.running.process.poll())
        result = grpcurl(self.running, "snowlease.v1.MachineIdService/Watermark",
                         {"namespace": "n", "machineId": 0})
        self.assertIn("NOT_FOUND", result.stderr)


if __name__ == "__main__":
    unittest.main()
