"""Settings: three sources, all faults at once, nothing secret shown."""

import unittest

from snowlease_e2e import E2ECase, run_server

USAGE = 2


class ConfigTest(E2ECase):
    def check(self, *arguments, **options):
        return run_server("--check-config", *arguments, cwd=self.directory, **options)

    def yaml(self, text, name="snowlease.yaml"):
        path = self.directory / name
        path.write_text(text)
        return f"--config={path}"

    def test_good_settings_check_out_without_touching_the_store(self):
        result = self.check("--store-url=sqlite:data/leases.db", self.yaml("grpc:\n  listen: 127.0.0.1:7070\n"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertFalse((self.directory / "data").exists())

    def test_unknown_names_are_refused_with_the_nearest_known_one(self):
        result = self.check("--stor-url=memory:", self.yaml("grpc:\n  lisen: 127.0.0.1:1\n"),
                            environment={"SNOWLEASE_HTTP_LISTN": "x"})
        self.assert_refused(result, "--stor-url", "did you mean --store-url?", "SNOWLEASE_HTTP_LISTN",
                            "SNOWLEASE_HTTP_LISTEN?", "grpc.lisen", "grpc.listen?", "line 2", code=USAGE)

    def test_all_faults_are_listed_at_once_with_source_and_fix(self):
        result = self.check(
            "--drain-timeout=0", "--lease-history=0", "--http-threads=many", "extra",
            self.yaml("store:\n  url: mongodb://x\ngrpc:\n  keepalive-time: 5\nbatching:\n  max-batch: 100\n  max-queue: 10\n"),
            environment={"SNOWLEASE_LOG_LEVEL": "loud", "SNOWLEASE_ADMIN_ENABLED": "yes"})
        self.assert_refused(
            result, "drain.timeout (flag --drain-timeout): must be positive", "lease.history", "http.threads",
            "extra", "store.url", "sqlite:PATH", "grpc.keepalive-time", "batching.max-queue", "log.level",
            "trace|debug|info|warn|error", "admin.enabled", "environment SNOWLEASE_LOG_LEVEL", code=USAGE)
        self.assertEqual(result.stdout, "")

    def test_timeouts_of_zero_are_refused(self):
        for setting in ("drain-timeout", "http-request-timeout", "grpc-keepalive-timeout",
                        "batching-max-queue-age", "lease-max-clock-ahead"):
            result = self.check(f"--{setting}=0")
            self.assert_refused(result, f"--{setting}", "must be positive", code=USAGE)

    def test_combinations_that_cannot_be_are_refused(self):
        for arguments, texts in (
                (("--grpc-listen=127.0.0.1:7070", "--http-listen=127.0.0.1:7070"), ("http.listen", "each its own")),
                (("--store-url=memory:", "--store-user=me"), ("store.user", "has no effect")),
                (("--lease-quarantine=1s", "--lease-max-clock-ahead=1m"), ("lease.quarantine", "raise it")),
                (("--log-level=info", "--log-level=warn"), ("log.level", "given twice"))):
            self.assert_refused(self.check(*arguments), *texts, code=USAGE)

    def test_flag_beats_environment_beats_file(self):
        config = self.yaml("drain:\n  timeout: 1s\nhttp:\n  threads: 3\nlease:\n  history: 7\n")
        result = run_server("--print-config", config, "--drain-timeout=3s",
                            environment={"SNOWLEASE_DRAIN_TIMEOUT": "2s", "SNOWLEASE_HTTP_THREADS": "4"})
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in ('timeout: "3s"  # flag --drain-timeout', 'threads: "4"  # environment SNOWLEASE_HTTP_THREADS',
                     'history: "7"  # file '):
            self.assertIn(line, result.stdout)

    def test_printed_settings_are_a_file_that_gives_the_same_settings(self):
        first = run_server("--print-config", "--store-url=memory:", "--metrics-namespaces=a,b", "--log-format=json")
        again = run_server("--print-config", self.yaml(first.stdout))

        def values(text):
            return [line.split("  #")[0] for line in text.splitlines()]
        self.assertEqual(values(again.stdout), values(first.stdout), again.stderr)

    def test_secrets_are_never_printed(self):
        secret = "hunter2-hunter2"
        (self.directory / "password").write_text(secret + "\n")
        url = f"postgresql://me:{secret}@db/leases"
        for arguments, environment in (
                (("--store-url=memory:",), {"SNOWLEASE_STORE_PASSWORD": secret}),
                ((f"--store-url={url}",), {}),
                ((), {"SNOWLEASE_STORE_URL": url}),
                ((self.yaml(f"store:\n  url: {url}\n"),), {}),
                ((f"--store-password={secret}",), {}),
                (("--store-password-file=password",), {})):
            for command in ("--print-config", "--check-config", "--log-level=trace"):
                result = run_server(command, *arguments, environment=environment, cwd=self.directory)
                self.assertNotIn(secret, result.stdout + result.stderr, (command, arguments))
                self.assertNotIn("hunter2", result.stdout + result.stderr, (command, arguments))

    def test_secret_file_that_is_missing_or_empty_or_doubled_is_refused(self):
        (self.directory / "empty").write_text("\n")
        (self.directory / "good").write_text("s3cret\n")
        for arguments, environment, text in (
                (("--store-password-file=nowhere",), {}, "cannot be read"),
                (("--store-password-file=empty",), {}, "is empty"),
                (("--store-password-file=good",), {"SNOWLEASE_STORE_PASSWORD": "x"}, "leave one out")):
            self.assert_refused(self.check(*arguments, environment=environment), "store.password-file", text,
                                code=USAGE)
        self.assert_refused(self.check("--store-password=x"), "SNOWLEASE_STORE_PASSWORD", code=USAGE)

    def test_bad_files_are_refused_with_path_and_line(self):
        for text, wanted in (("grpc: [unclosed\n", "no YAML"), ("- a\n- b\n", "no map of settings"),
                             ("log:\n  level:\n", "has no value"),
                             ("log:\n  level: info\nlog:\n  level: warn\n", "twice"),
                             ("log:\n  level: [info]\n", "takes one value")):
            self.assert_refused(self.check(self.yaml(text)), "snowlease.yaml", wanted, code=USAGE)
        self.assert_refused(self.check("--config=nowhere.yaml"), "nowhere.yaml", "cannot be read", code=USAGE)
        self.assert_refused(self.check("--config"), "--config", "path", code=USAGE)

    def test_faults_stop_the_start_as_well(self):
        result = run_server("--grpc-listen=nowhere", "--http-listen=127.0.0.1:99999", cwd=self.directory)
        self.assert_refused(result, "grpc.listen", "http.listen", "127.0.0.1:7070", code=USAGE)
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_help_names_every_setting_and_goes_to_stdout(self):
        result = run_server("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name in ("--store-url", "--grpc-listen", "--drain-timeout", "SNOWLEASE_STORE_PASSWORD", "migrate"):
            self.assertIn(name, result.stdout)
        version = run_server("--version")
        self.assertRegex(version.stdout, r"\d+\.\d+\.\d+")

    def test_unknown_command_is_refused(self):
        self.assert_refused(run_server("serv"), "serv", code=USAGE)

    def test_namespaces_outside_the_allow_list_are_not_created(self):
        server = self.server("--namespaces-create=team-*")
        server.api.claim(namespace="team-a")
        with self.assert_reason("NAMESPACE_POLICY") as refused:
            server.api.claim(namespace="prod")
        self.assertIn("prod", refused.exception.message)

    def test_disabled_admin_api_says_how_to_enable_it(self):
        server = self.server()
        with self.assert_reason("ADMIN_DISABLED") as refused:
            server.api.admin("listNamespaces")
        self.assertEqual(refused.exception.status, 403)
        self.assertIn("--admin-enabled", refused.exception.message)


if __name__ == "__main__":
    unittest.main()
