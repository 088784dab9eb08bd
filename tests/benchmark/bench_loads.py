"""One round of all measurements: {(what, server): value}."""

import json
import os
import subprocess
import sys
import tempfile
import time

import http2_connections
import local_server

PROGRAMS = ("snowlease", "snowlease-server", "snowlease-noop-server", "snowlease-store-benchmark")
OUTSTANDING = (64, 512, 2048)
CONNECTIONS = 1000
IDLE_SECONDS = 10


def start_noop(programs):
    port = local_server.free_port()
    return local_server.Server("no-op", [programs / "snowlease-noop-server", f"127.0.0.1:{port}"], {}, port,
                               lambda: local_server.accepts(port))


def start_servers(programs):
    return [start_noop(programs), local_server.start_real(programs, "memory", "memory:"),
            local_server.start_real(programs, "sqlite", "sqlite:{folder}/bench.db")]


def bench(programs, server, *arguments):
    """The JSON that `snowlease bench` prints."""
    done = subprocess.run([programs / "snowlease", "bench", *map(str, arguments), "-o", "json"],
                          env={**os.environ, "SNOWLEASE_SERVER": server.address}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"snowlease bench {' '.join(map(str, arguments))} failed on {server.name}:\n{done.stdout}")
    result = json.loads(done.stdout)
    if result["errors"]:
        sys.exit(f"snowlease bench on {server.name}: {result['errors']} calls failed: {done.stdout}")
    return result


def service_loads(programs, servers, seconds):
    """Each load on each server in turn, so that a slow moment of the machine meets all of them."""
    values = {}
    duration = f"{seconds:g}s"

    def measure(what, field, *arguments, on=servers):
        for server in on:
            values[what, server.name] = bench(programs, server, *arguments, "--duration", duration)[field]

    for outstanding in OUTSTANDING:
        measure(f"renew {outstanding}", "per_second", "renew", "--outstanding", outstanding, "--channels", 4,
                "--leases", 2048)
    measure("renew alone p50", "p50_us", "renew", "--outstanding", 1, "--channels", 1, "--leases", 1)
    measure("keepalive", "per_second", "keepalive", "--outstanding", 512, "--channels", 4, "--leases", 2048)
    measure("claim 512", "per_second", "claim", "--outstanding", 512, "--channels", 4)
    measure("claim 1", "per_second", "claim", "--outstanding", 1, "--channels", 1)
    return values


def store_loads(programs, seconds):
    values = {}
    for operation in ("claim", "renew"):
        for batch in (1, 32, 512):
            with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as folder:
                done = subprocess.run([programs / "snowlease-store-benchmark", f"sqlite:{folder}/bench.db", operation,
                                       str(batch), str(seconds)], stdout=subprocess.PIPE, check=True)
            values[f"store {operation} {batch}", "sqlite"] = json.loads(done.stdout)["per_second"]
    return values


def sizes(servers):
    """Idle processor time of each server, then its memory with many connections."""
    before = {server.name: server.cpu_seconds() for server in servers}
    time.sleep(IDLE_SECONDS)
    values = {("idle cpu %", server.name): 100 * (server.cpu_seconds() - before[server.name]) / IDLE_SECONDS
              for server in servers}
    for server in servers:
        values["rss MiB", server.name] = server.rss_mib()
        connections = http2_connections.open_connections(server.address, CONNECTIONS)
        values["rss MiB with connections", server.name] = server.rss_mib()
        for connection in connections:
            connection.close()
    return values


def disk_sync_us():
    """What one small durable write costs here."""
    times = []
    with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as folder:
        file = os.open(f"{folder}/probe", os.O_CREAT | os.O_WRONLY, 0o600)
        for _ in range(200):
            os.write(file, b"x" * 4096)
            start = time.perf_counter()
            os.fdatasync(file)
            times.append(time.perf_counter() - start)
        os.close(file)
    return sorted(times)[len(times) // 2] * 1e6


def one_round(programs, seconds):
    values = {("fdatasync us", "disk"): disk_sync_us()}
    servers = []
    try:
        servers = start_servers(programs)
        values.update(sizes(servers))
        values.update(service_loads(programs, servers, seconds))
    finally:
        for server in servers:
            server.stop()
    values.update(store_loads(programs, seconds))
    return values
