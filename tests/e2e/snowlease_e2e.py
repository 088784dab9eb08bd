"""Runs the real programs for tests: servers, the command line, grpcurl and the test client.

Everything lives in a temporary directory and on loopback ports, is stopped by its pid and dies
with the test. When a test fails, the servers' logs are printed.
"""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import json_api

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("E2E_BIN_DIR", ROOT / "build/release/bin"))
GRPCURL = pathlib.Path(os.environ.get("E2E_GRPCURL", ROOT / ".deps/bin/grpcurl"))
SERVER = BIN / "snowlease-server"
CLI = BIN / "snowlease"
TEST_CLIENT = BIN / "snowlease-test-client"
SLOW_DISK = BIN / "libslow_disk.so"

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def clean_environment(extra=None):
    """The environment without settings of the machine that would reach our programs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SNOWLEASE_")}
    environment.update(extra or {})
    return environment


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def eventually(probe, timeout=10, what="the condition"):
    """Asks until the answer is true and returns it; AssertionError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {timeout} s")
        time.sleep(0.01)


def die_with_parent(files=None):
    """For preexec_fn: the child ends when the test does, however it ends."""
    def prepare():
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, files)
    return prepare


class Server:
    """One server process. `store` is a URL or a file name in `directory`."""

    def __init__(self, directory, *arguments, store="leases.db", ports=None, environment=None, prefix=(),
                 files=None, name="server"):
        self.directory = pathlib.Path(directory)
        self.store = store if ":" in store else f"sqlite:{self.directory / store}"
        grpc, http_port = ports or (0, 0)
        self.command = [*prefix, str(SERVER), f"--store-url={self.store}", f"--grpc-listen=127.0.0.1:{grpc}",
                        f"--http-listen=127.0.0.1:{http_port}", *arguments]
        self.environment = clean_environment(environment)
        self.files = files
        self.log_path = self.directory / f"{name}.log"
        self.process = None
        self.grpc_port = self.http_port = None

    def start(self, ready=True, timeout=15):
        """Starts it and, unless told otherwise, waits until it is ready."""
        begin = self.launch()
        self.grpc_port, self.http_port = eventually(lambda: self._ports(begin), timeout, "the start of the server")
        if ready:
            eventually(lambda: self.readiness()[0] == 200, timeout, "readiness")
        return self

    def launch(self):
        """Starts the process only; where its log begins."""
        with open(self.log_path, "ab") as log:
            begin = log.tell()
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, cwd=self.directory,
                                            stdin=subprocess.DEVNULL, env=self.environment,
                                            preexec_fn=die_with_parent(self.files))
        return begin

    def _ports(self, begin):
        if self.process.poll() is not None:
            raise AssertionError(f"the server left with {self.process.returncode}:\n{self.log()}")
        log = self.log_path.read_bytes()[begin:].decode(errors="replace")
        found = [re.search(pattern, log) for pattern in PORT_PATTERNS]
        return tuple(int(match.group(1)) for match in found) if all(found) else None

    @property
    def target(self):
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def pid(self):
        return self.process.pid

    @property
    def api(self):
        return json_api.Api(self.http_port)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def get(self, path, headers=None):
        """(status, body) of the HTTP port."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def readiness(self):
        try:
            return self.get("/readyz")
        except OSError:
            return 0, ""

    def signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=15):
        return self.process.wait(timeout)

    def stop(self, timeout=25):
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        """SIGKILL, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if self.process is not None:
            self.process.wait()

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_bytes(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024

    def metric(self, name):
        """Sum of all series of a metric."""
        lines = re.findall(rf"^{name}(?:\{{[^}}]*\}})? (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        return sum(float(value) for value in lines)


# What the server logs once it listens.
PORT_PATTERNS = (r"grpc=\S*?:(\d+)", r"http=\S*?:(\d+)")


def run(*command, stdin=None, environment=None, timeout=20, **options):
    """Runs a program to its end; text in and out."""
    return subprocess.run([str(part) for part in command], input=stdin, capture_output=True, text=True,
                          env=clean_environment(environment), timeout=timeout,
                          **({"stdin": subprocess.DEVNULL} if stdin is None else {}),
                          preexec_fn=die_with_parent(), **options)


def run_server(*arguments, environment=None, prefix=(), timeout=15, **options):
    """Runs the server where it is to refuse or to print something."""
    return run(*prefix, SERVER, *arguments, environment=environment, timeout=timeout, **options)


def cli(server, *arguments, **options):
    """Runs the command line against a server (None: the default address)."""
    where = [] if server is None else [f"--server={server.target}"]
    return run(CLI, *where, *arguments, **options)


def grpcurl(server, method, body=None):
    """Calls a method through reflection, `body` a dict or JSON text; or list, or describe and a symbol."""
    if method in ("list", "describe"):
        return run(GRPCURL, "-plaintext", server.target, method, *([body] if body else []))
    data = body if isinstance(body, str) else json.dumps(body or {})
    return run(GRPCURL, "-plaintext", "-d", data, server.target, method)


def call_raw(server, method, message):
    """Sends bytes as the request of a gRPC method; a dict with code, reason, message and response (in hex)."""
    result = run(TEST_CLIENT, "raw", server.target, method, stdin=message.hex())
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def start_client(server, *arguments):
    """Starts the test client; read its JSON lines from stdout, close stdin to end it."""
    return subprocess.Popen([str(TEST_CLIENT), arguments[0], server.target, *map(str, arguments[1:])],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean_environment(),
                            preexec_fn=die_with_parent())


class E2ECase(unittest.TestCase):
    """A test with a directory of its own, whose servers are killed at its end."""

    directory: pathlib.Path

    def run(self, result=None):
        result = result or self.defaultTestResult()
        before = len(result.failures) + len(result.errors)
        self.servers = []
        with tempfile.TemporaryDirectory(prefix="snowlease-e2e-") as directory:
            self.directory = pathlib.Path(directory)
            try:
                return super().run(result)
            finally:
                for server in self.servers:
                    server.kill()
                if len(result.failures) + len(result.errors) > before:
                    self._print_logs()

    def _print_logs(self):
        for server in self.servers:
            print(f"--- last lines of {server.log_path.name} of {self.id()}", file=sys.stderr)
            print("\n".join(server.log().splitlines()[-60:]), file=sys.stderr)

    def server(self, *arguments, start=True, **options):
        """A started server that ends with the test; options as of Server."""
        options.setdefault("name", f"server{len(self.servers)}")
        timeout = options.pop("timeout", 15)
        server = Server(self.directory, *arguments, **options)
        self.servers.append(server)
        return server.start(timeout=timeout) if start else server

    def client(self, server, *arguments):
        """A test client that ends with the test."""
        process = start_client(server, *arguments)

        def end():
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self.addCleanup(end)
        return process

    def assert_refused(self, result, *texts, code=1):
        """The program refused and said all of `texts` on stderr."""
        for text in texts:
            self.assertIn(text, result.stderr)
        self.assertEqual(result.returncode, code, result.stderr)

    def assert_reason(self, reason):
        """A context in which a call must fail for `reason`; gives the ApiError as .exception."""
        return _ReasonContext(self, reason)


class _ReasonContext:
    def __init__(self, case, reason):
        self._case, self._reason = case, reason
        self.exception = None

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _traceback):
        if kind is None:
            raise AssertionError(f"the call succeeded, expected {self._reason}")
        if not issubclass(kind, json_api.ApiError):
            return False
        self.exception = error
        self._case.assertEqual(error.reason, self._reason, str(error))
        return True
