"""One round of all measurements: {(what, server): value}."""

import json
import os
import re
import sys
import tempfile
import time

import http2_connections
import snowlease_e2e

PROGRAMS = ("snowlease", "snowlease-server", "snowlease-noop-server", "snowlease-store-benchmark")
OUTSTANDING = (64, 512, 2048)
CONNECTIONS = 1000
IDLE_SECONDS = 10
MIB = 1024 * 1024


class NoopServer(snowlease_e2e.Server):
    """snowlease-noop-server, measured like the real one."""

    def __init__(self, directory):
        super().__init__(directory, store="none:", name="no-op")
        self.command = [str(snowlease_e2e.BIN / "snowlease-noop-server")]

    def start(self):
        self.launch()
        match = snowlease_e2e.eventually(lambda: re.search(r"listening on \S+:(\d+)", self.log()))
        self.grpc_port = int(match.group(1))
        return self


def start_servers(directory):
    """By name, started; the caller ends them."""
    return {"no-op": NoopServer(directory).start(),
            "memory": snowlease_e2e.Server(directory, store="memory:", name="memory").start(),
            "sqlite": snowlease_e2e.Server(directory, store="bench.db", name="sqlite").start()}


def bench(server, *arguments):
    """The JSON that `snowlease bench` prints."""
    done = snowlease_e2e.cli(server, "bench", *arguments, "-o", "json", timeout=120)
    if done.returncode != 0:
        sys.exit(f"snowlease bench {arguments} failed on {server.log_path.stem}:\n{done.stdout}{done.stderr}")
    result = json.loads(done.stdout)
    if result["errors"]:
        sys.exit(f"snowlease bench {arguments} on {server.log_path.stem}: {result['errors']}")
    return result


def service_loads(servers, seconds):
    """Each load on each server in turn, so that a slow moment of the machine meets all of them."""
    values = {}
    duration = f"{seconds:g}s"

    def measure(what, field, *arguments):
        for name, server in servers.items():
            values[what, name] = bench(server, *arguments, "--duration", duration)[field]

    for outstanding in OUTSTANDING:
        measure(f"renew {outstanding}", "per_second", "renew", "--outstanding", outstanding, "--channels", 4,
                "--leases", 2048)
    measure("renew alone p50", "p50_us", "renew", "--outstanding", 1, "--channels", 1, "--leases", 1)
    measure("keepalive", "per_second", "keepalive", "--outstanding", 512, "--channels", 4, "--leases", 2048)
    measure("claim 512", "per_second", "claim", "--outstanding", 512, "--channels", 4, "--leases", 4096)
    measure("claim 1", "per_second", "claim", "--outstanding", 1, "--channels", 1, "--leases", 4096)
    return values


def store_loads(seconds):
    values = {}
    program = snowlease_e2e.BIN / "snowlease-store-benchmark"
    for operation in ("claim", "renew"):
        for batch in (1, 32, 512):
            with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as directory:
                done = snowlease_e2e.run(program, f"sqlite:{directory}/bench.db", operation, batch, seconds, timeout=120)
            if done.returncode != 0:
                sys.exit(done.stderr)
            values[f"store {operation} {batch}", "sqlite"] = json.loads(done.stdout)["per_second"]
    return values


def sizes(servers):
    """Idle processor time of each server, then its memory with many connections."""
    before = {name: server.cpu_seconds() for name, server in servers.items()}
    time.sleep(IDLE_SECONDS)
    values = {("idle cpu %", name): 100 * (server.cpu_seconds() - before[name]) / IDLE_SECONDS
              for name, server in servers.items()}
    for name, server in servers.items():
        values["rss MiB", name] = server.rss_bytes() / MIB
        connections = http2_connections.open_connections(server.target, CONNECTIONS)
        values["rss MiB with connections", name] = server.rss_bytes() / MIB
        for connection in connections:
            connection.close()
    return values


def disk_sync_us():
    """What one small durable write costs here."""
    times = []
    with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as directory:
        file = os.open(f"{directory}/probe", os.O_CREAT | os.O_WRONLY, 0o600)
        for _ in range(200):
            os.write(file, b"x" * 4096)
            start = time.perf_counter()
            os.fdatasync(file)
            times.append(time.perf_counter() - start)
        os.close(file)
    return sorted(times)[len(times) // 2] * 1e6


def one_round(seconds):
    values = {("fdatasync us", "disk"): disk_sync_us()}
    with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as directory:
        servers = start_servers(directory)
        try:
            values.update(sizes(servers))
            values.update(service_loads(servers, seconds))
        finally:
            for server in servers.values():
                server.kill()
    values.update(store_loads(seconds))
    return values
