"""TLS on the gRPC port, with the real programs and certificates made by openssl."""

import json
import struct
import time
import unittest

from snowlease_e2e import BIN, E2ECase, cli, eventually, run, run_server


class TlsTest(E2ECase):
    def make(self, name, days=30):
        """A certificate that is its own signer, for 127.0.0.1, and its key."""
        certificate, key = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        made = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                   "-keyout", key, "-out", certificate, "-days", days, "-subj", f"/CN={name}",
                   "-addext", "subjectAltName=IP:127.0.0.1,DNS:snowlease.test")
        self.assertEqual(made.returncode, 0, made.stderr)
        return certificate, key

    def tls_server(self, certificate, key, *arguments):
        """A server whose files are copies, to be swapped."""
        self.certificate, self.key = self.directory / "served.crt", self.directory / "served.key"
        self.certificate.write_bytes(certificate.read_bytes())
        self.key.write_bytes(key.read_bytes())
        return self.server(f"--grpc-tls-cert-file={self.certificate}", f"--grpc-tls-key-file={self.key}", *arguments)

    @staticmethod
    def claim(server, ca, instance="i", *arguments):
        return cli(server, "--tls", f"--ca-file={ca}", "--timeout=3s", *arguments, "claim", "orders", "--instance",
                   instance, "-o", "json")

    def assert_claims(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("machineId", json.loads(result.stdout)["lease"])

    def test_certificate_swapped_on_disk_serves_new_connections_and_a_torn_pair_does_not(self):
        """F50."""
        first, first_key = self.make("first")
        second, second_key = self.make("second", days=90)
        server = self.tls_server(first, first_key)
        expiry = server.metric("snowlease_tls_certificate_expiry_timestamp_seconds")
        self.assertAlmostEqual(expiry, time.time() + 30 * 86400, delta=600)
        self.assert_claims(self.claim(server, first))
        self.certificate.write_bytes(second.read_bytes())
        self.assert_claims(self.claim(server, first))
        self.assertEqual(server.metric("snowlease_tls_certificate_expiry_timestamp_seconds"), expiry)
        eventually(lambda: "private key is not that of the certificate" in server.log(), 5, "the log line")
        self.key.write_bytes(second_key.read_bytes())
        self.assert_claims(self.claim(server, second))
        self.assertNotEqual(self.claim(server, first).returncode, 0)
        self.assertGreater(server.metric("snowlease_tls_certificate_expiry_timestamp_seconds"), expiry)

    def test_command_line_tells_what_is_wrong(self):
        certificate, key = self.make("served")
        stranger, _ = self.make("stranger")
        server = self.tls_server(certificate, key)
        plain = cli(server, "--timeout=2s", "claim", "orders")
        self.assertEqual(plain.returncode, 75)
        self.assertIn("--tls", plain.stderr)
        untrusted = self.claim(server, stranger)
        self.assertIn("snowlease doctor", untrusted.stderr)
        by_name = self.claim(server, certificate, "n", "--server-name=snowlease.test")
        self.assert_claims(by_name)
        no_file = self.claim(server, self.directory / "nowhere.crt")
        self.assertEqual(no_file.returncode, 2)
        self.assertIn("nowhere.crt", no_file.stderr)
        plain_server = self.server(store="plain.db")
        self.assertIn("leave out --tls", self.claim(plain_server, certificate).stderr)

    def test_environment_of_the_command_line_and_what_claim_tells_next(self):
        certificate, key = self.make("served")
        server = self.tls_server(certificate, key)
        environment = {"SNOWLEASE_TLS": "true", "SNOWLEASE_CA_FILE": str(certificate)}
        claimed = cli(server, "claim", "orders", environment=environment)
        self.assertEqual(claimed.returncode, 0, claimed.stderr)
        renew = next(line.strip() for line in claimed.stderr.splitlines() if "snowlease renew" in line)
        renewed = cli(None, *renew.split()[1:])
        self.assertEqual(renewed.returncode, 0, renewed.stderr)

    def test_doctor_shows_expiry_and_what_is_wrong_with_a_certificate(self):
        certificate, key = self.make("served")
        stranger, _ = self.make("stranger")
        server = self.tls_server(certificate, key)
        good = self.doctor(server, certificate)
        self.assertEqual(good["tls"]["result"], "OK", good)
        self.assertRegex(good["tls"]["detail"], r"CN=served.* expires 20.* \(29 days left\)")
        self.assertIn("snowlease-server", good["version"]["detail"])
        bad = self.doctor(server, stranger)
        self.assertEqual(bad["tls"]["result"], "FAIL")
        self.assertRegex(bad["tls"]["detail"], "self.signed certificate")
        misnamed = self.doctor(server, certificate, "--server-name=elsewhere.test")
        self.assertIn("not for the name elsewhere.test", misnamed["tls"]["detail"])

    @staticmethod
    def doctor(server, ca, *arguments):
        result = cli(server, "--tls", f"--ca-file={ca}", "--timeout=3s", *arguments, "doctor", "-o", "json")
        return {check["check"]: check for check in json.loads(result.stdout)["checks"]}

    def test_expired_certificate_is_refused_at_start_with_its_date(self):
        certificate, key = self.make("old")
        shift = self.directory / "shift"
        shift.write_bytes(struct.pack("=q", 31 * 86_400_000))
        result = run_server("--store-url=memory:", "--grpc-listen=127.0.0.1:0", "--http-listen=127.0.0.1:0",
                            f"--grpc-tls-cert-file={certificate}", f"--grpc-tls-key-file={key}",
                            environment={"LD_PRELOAD": str(BIN / "libshifted_clock.so"),
                                         "SHIFTED_CLOCK_FILE": str(shift)})
        self.assert_refused(result, "grpc.tls.cert-file", "old.crt", "expired at 20", "put a valid pair there")

    def test_clients_with_certificates_only(self):
        certificate, key = self.make("served")
        client, client_key = self.make("client")
        server = self.tls_server(certificate, key, f"--grpc-tls-client-ca-file={client}")
        self.assertNotEqual(self.claim(server, certificate).returncode, 0)
        own = (f"--cert-file={client}", f"--key-file={client_key}")
        self.assert_claims(self.claim(server, certificate, "i", *own))

    def test_healthcheck_of_the_program_itself(self):
        certificate, key = self.make("served")
        server = self.tls_server(certificate, key)
        settings = (f"--grpc-listen={server.target}", f"--grpc-tls-cert-file={self.certificate}",
                    f"--grpc-tls-key-file={self.key}")
        self.assertEqual(run_server("healthcheck", *settings).returncode, 0)
        server.stop()
        self.assertEqual(run_server("healthcheck", *settings).returncode, 1)

    def test_address_for_all_is_announced_with_what_still_lacks(self):
        certificate, key = self.make("served")
        server = self.tls_server(certificate, key)
        server.stop()
        server.command = [argument.replace("--grpc-listen=127.0.0.1", "--grpc-listen=0.0.0.0")
                          for argument in server.command]
        server.start()
        self.assertIn("tls=on", server.log())
        self.assertIn("grpc.tls.client-ca-file", server.log())
        self.assertNotIn("neither TLS", server.log())


if __name__ == "__main__":
    unittest.main()
