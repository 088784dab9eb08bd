"""A real server for tests: started on free loopback ports in a temporary folder, ended by pid."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

START_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A process that serves gRPC on a loopback port; ended by pid."""

    def __init__(self, name, command, environment, port, ready):
        self.name = name
        self.address = f"127.0.0.1:{port}"
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="snowlease-test-"))
        self._log = open(self._folder / "log", "wb")
        variables = {**os.environ, **{key: value.format(folder=self._folder) for key, value in environment.items()}}
        self._process = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=self._log,
                                         stderr=subprocess.STDOUT)
        self._wait(ready)

    def _wait(self, ready):
        deadline = time.monotonic() + START_SECONDS
        while not ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "log").read_text(errors="replace")
                self.stop()
                raise RuntimeError(f"{self.name} did not become ready:\n{log}")
            time.sleep(0.05)

    def stop(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=START_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def rss_mib(self):
        status = pathlib.Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def _is_ready(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def start_real(programs, name, store_url, settings=None):
    """snowlease-server on free ports; `{folder}` in a value is its temporary folder."""
    port, http_port = free_port(), free_port()
    environment = {"SNOWLEASE_STORE_URL": store_url, "SNOWLEASE_GRPC_LISTEN": f"127.0.0.1:{port}",
                   "SNOWLEASE_HTTP_LISTEN": f"127.0.0.1:{http_port}", **(settings or {})}
    return Server(name, [programs / "snowlease-server"], environment, port, lambda: _is_ready(http_port))
