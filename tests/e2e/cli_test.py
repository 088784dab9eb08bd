"""The command line: exit codes, streams, formats, and errors that tell what to do."""

import json
import unittest

from json_api import now_ms
from snowlease_e2e import BIN, E2ECase, cli, free_port, run

OK, ERROR, USAGE, LOST, TRY_AGAIN = 0, 1, 2, 3, 75
GRANT = ("-n", "orders", "-m", "0", "-i", "a", "-t", "1")


class CommandLineTest(E2ECase):
    def assert_failed(self, result, code, *texts):
        """Nothing on stdout, the problem on stderr."""
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertTrue(result.stderr.startswith("error: "), result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_no_server_says_what_to_start_or_to_name(self):
        port = free_port()
        result = run(BIN / "snowlease", "claim", "orders", environment={"SNOWLEASE_SERVER": f"127.0.0.1:{port}"})
        self.assert_failed(result, TRY_AGAIN, "UNAVAILABLE", f"127.0.0.1:{port}", "start a server", "--server",
                           "SNOWLEASE_SERVER")

    def test_port_that_speaks_no_grpc_is_an_error_and_not_a_hang(self):
        server = self.server()
        result = run(BIN / "snowlease", f"--server=127.0.0.1:{server.http_port}", "--timeout=3s", "claim", "orders")
        self.assertIn(result.returncode, (ERROR, TRY_AGAIN))
        self.assertIn("fix: ", result.stderr)

    def test_exit_codes_tell_lost_from_try_again_from_error(self):
        server = self.server("--admin-enabled")
        self.assertEqual(cli(server, "claim", "orders", "-i", "a", "--stable", "-b", "1").returncode, OK)
        self.assert_failed(cli(server, "claim", "orders", "-i", "a", "--stable", "-b", "1"), TRY_AGAIN, "WINDOW_OPEN",
                           "--comeback move")
        cli(server, "claim", "orders", "-i", "b", "-b", "1")
        self.assert_failed(cli(server, "claim", "orders", "-i", "c", "-b", "1"), ERROR, "MACHINE_ID_OVERFLOW",
                           "leases list", "namespaces set")
        self.assert_failed(cli(server, "claim", "orders", "-i", "c", "-b", "5"), ERROR, "NAMESPACE_POLICY",
                           "namespaces get")
        self.assertEqual(cli(server, "release", *GRANT, "--last-timestamp=none").returncode, OK)
        self.assert_failed(cli(server, "renew", *GRANT), LOST, "MACHINE_ID_LOST (RELEASED)", "claim a new lease")

    def test_wrong_usage_is_told_before_a_server_is_asked(self):
        for arguments, texts in (
                ((), ("subcommand",)), (("claim",), ("--namespace",)), (("claim", "x", "--bogus"), ("--bogus",)),
                (("claim", "x", "--bits=31"), ("--bits", "1 to 30")), (("claim", "x", "-b", "ten"), ("--bits",)),
                (("claim", "x", "--safe-guard=5"), ("--safe-guard", "30s")),
                (("claim", "x", "--metadata=novalue"), ("key=value",)), (("renew", "-n", "x"), ("--machine-id",)),
                (("renew", "-n", "x", "-m", "0", "-i", "a", "-t", "0"), ("--token",)),
                (("-o", "xml", "claim", "x"), ("--output", "table", "json", "yaml")),
                (("--timeout=0", "claim", "x"), ("timeout",)),
                (("leases", "reserve", "-n", "x", "9-1", "--reason=r"), ("9-1",)), (("bogus",), ("bogus",))):
            result = run(BIN / "snowlease", "--server=127.0.0.1:1", *arguments)
            self.assertIn(result.returncode, (USAGE,), (arguments, result.stderr))
            self.assertEqual(result.stdout, "", arguments)
            for text in texts:
                self.assertIn(text, result.stderr, arguments)

    def test_all_refused_fields_are_shown(self):
        result = cli(self.server(), "claim", "n" * 201, "-i", "a\x07", "--safe-guard=100ms")
        self.assert_failed(result, ERROR, "\n  namespace: ", "\n  instance_id: ", "\n  safe_guard_duration: ")
        self.assertNotIn("\x07", result.stderr)

    def test_json_is_the_answer_and_yaml_and_table_say_the_same(self):
        server = self.server("--admin-enabled")
        lease = json.loads(cli(server, "-o", "json", "claim", "orders", "-i", "a").stdout)["lease"]
        self.assertEqual((lease["machineId"], lease["token"]), (0, "1"))
        cli(server, "claim", "orders", "-i", "b: c\"# {")
        listed = json.loads(cli(server, "leases", "list", "-n", "orders", "-o", "json").stdout)
        self.assertEqual([record["instanceId"] for record in listed["leases"]], ["a", "b: c\"# {"])
        yaml = cli(server, "leases", "get", "-n", "orders", "1", "-o", "yaml").stdout
        self.assertIn("instanceId: \"b: c\\\"# {\"", yaml)
        table = cli(server, "leases", "list", "-n", "orders").stdout.splitlines()
        self.assertEqual((len(table), table[0].split()[:3]), (3, ["MACHINE_ID", "STATE", "INSTANCE"]))
        bare = cli(server, "leases", "list", "-n", "orders", "--no-headers").stdout.splitlines()
        self.assertEqual([line.split() for line in bare], [line.split() for line in table[1:]])

    def test_data_goes_to_stdout_and_talk_to_stderr(self):
        result = cli(self.server(), "claim", "orders", "-i", "a")
        self.assertIn("orders", result.stdout)
        self.assertNotIn("snowlease renew", result.stdout)
        self.assertIn("snowlease renew", result.stderr)
        self.assertNotIn("\x1b[", result.stdout + result.stderr, "colours without a terminal")

    def test_printed_commands_work_as_they_are(self):
        """Also for names that a shell would take apart."""
        server = self.server()
        name = "it's $HOME `id` \"x\""
        talk = cli(server, "claim", "orders", "-i", name).stderr
        for command in [line.strip() for line in talk.splitlines() if line.startswith("  snowlease ")]:
            result = run("bash", "-c", command, environment={"SNOWLEASE_SERVER": server.target,
                                                             "PATH": f"{BIN}:/usr/bin:/bin"})
            self.assertEqual(result.returncode, OK, (command, result.stderr))
        self.assertEqual(server.api.claim(instance="next", maxWait="1s")["source"], "LEASE_SOURCE_RELEASED")

    def test_destructive_verbs_need_a_yes_when_nobody_can_be_asked(self):
        server = self.server("--admin-enabled")
        server.api.claim(instance="a")
        force = ("leases", "force-release", "-n", "orders", "0", "-t", "1", "--reason=test")
        self.assert_failed(cli(server, *force), USAGE, "--yes")
        self.assertEqual(server.api.leases("orders")[0]["state"], "LEASE_STATE_HELD")
        self.assertEqual(cli(server, *force, "--yes").returncode, OK)
        delete = ("namespaces", "delete", "orders", "--reason=test")
        self.assert_failed(cli(server, *delete), USAGE, "--yes")
        self.assertEqual(cli(server, *delete, "-y").returncode, OK)
        self.assert_failed(cli(server, "namespaces", "get", "orders"), ERROR, "NOT_FOUND")

    def test_operators_commands_do_their_work(self):
        server = self.server("--admin-enabled")
        server.api.claim(instance="a", machineBits=3)
        for arguments in (("namespaces", "set", "orders", "--bits=4", "--lease-cap=3", "--reason=r"),
                          ("leases", "reserve", "-n", "orders", "1-2", "5", "--reason=r"),
                          ("leases", "unreserve", "-n", "orders", "5", "--floor=0", "--reason=r")):
            result = cli(server, *arguments)
            self.assertEqual(result.returncode, OK, (arguments, result.stderr))
        row = json.loads(cli(server, "-o", "json", "namespaces", "get", "orders").stdout)["namespace"]
        self.assertEqual((row["machineBits"], row["reserved"], row["policy"]["leaseCap"]), (4, "2", "3"))

    def test_disabled_admin_api_says_how_to_enable_it(self):
        self.assert_failed(cli(self.server(), "namespaces", "list"), ERROR, "ADMIN_DISABLED", "--admin-enabled")

    def test_owner_of_an_id_is_found(self):
        server = self.server("--admin-enabled")
        server.api.claim(instance="first")
        server.api.claim(instance="maker")
        number = ((now_ms() - 1577203200000) << 22) + (1 << 12) + 5
        self.assertEqual(json.loads(cli(None, "decode", str(number), "-o", "json").stdout)["machineId"], 1)
        owner = cli(server, "owner", "-n", "orders", str(number), "-o", "json")
        self.assertEqual([grant["instanceId"] for grant in json.loads(owner.stdout)["grants"]], ["maker"],
                         owner.stderr)

    def test_doctor_tells_what_is_well_and_what_is_not(self):
        server = self.server("--admin-enabled")
        result = cli(server, "doctor", "-o", "json")
        self.assertEqual(result.returncode, OK, result.stderr)
        checks = {check["check"]: check["result"] for check in json.loads(result.stdout)["checks"]}
        self.assertEqual(set(checks.values()), {"OK"}, checks)
        server.stop()
        sick = cli(server, "doctor", "--timeout=2s")
        self.assertIn(sick.returncode, (ERROR, TRY_AGAIN))
        self.assertIn(server.target, sick.stdout + sick.stderr)

    def test_bench_puts_load_on_and_leaves_nothing_behind(self):
        server = self.server("--admin-enabled")
        for load in ("renew", "keepalive", "claim"):
            warmup = () if load == "claim" else ("--warmup=0",)
            result = cli(server, "bench", load, "--duration=500ms", "--leases=50", "--outstanding=16", "-o", "json",
                         *warmup)
            self.assertEqual(result.returncode, OK, result.stderr)
            report = json.loads(result.stdout)
            self.assertGreater(report["operations"], 50, load)
            self.assertEqual(report["errors"], {}, load)
        for row in server.api.admin("listNamespaces")["namespaces"]:
            self.assertEqual(row.get("held", "0"), "0", row)

    def test_completions_load_and_complete(self):
        script = run(BIN / "snowlease", "completion", "bash")
        self.assertEqual((script.returncode, script.stderr), (OK, ""))
        probe = script.stdout + """
declare -F >/dev/null
words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  local entry; entry=$(complete -p snowlease) || return 1
  entry=${entry#*-F }; "${entry%% *}" snowlease "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
  echo "${COMPREPLY[@]}"; }
words snowlease ''
words snowlease leases fo
words snowlease claim --comeback ''
"""
        result = run("bash", "--norc", "-eu", "-c", probe)
        self.assertEqual((result.returncode, result.stderr), (OK, ""), script.stdout[:500])
        top, force, modes = result.stdout.splitlines()
        self.assertTrue({"claim", "renew", "release", "watermark", "namespaces", "leases", "owner", "decode", "doctor",
                         "bench", "completion"} <= set(top.split()), top)
        self.assertEqual(force.split(), ["force-release"])
        self.assertTrue({"move", "keep", "trust-clock"} <= set(modes.split()), modes)
        for shell in ("zsh", "fish"):
            self.assertIn("force-release", run(BIN / "snowlease", "completion", shell).stdout)

    def test_help_shows_exit_codes_and_every_command_has_one(self):
        result = run(BIN / "snowlease", "--help")
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        self.assertIn("75 try again later", result.stdout)
        for command in ("claim", "renew", "release", "watermark", "owner", "decode", "doctor", "bench", "completion"):
            self.assertEqual(run(BIN / "snowlease", command, "--help").returncode, OK, command)


if __name__ == "__main__":
    unittest.main()
