"""Loads on running servers: {(what, server): value}."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import database_servers
import http2_connections
import snowlease_e2e

OUTSTANDING = (64, 512, 2048)
CONNECTIONS = 1000
IDLE_SECONDS = 10
WARM_UP_SECONDS = 0.5
# PostgreSQL publishes its counts of updates with a delay of up to a second.
COUNTED_WARM_UP_SECONDS, COUNTED_SECONDS = 1.5, 2
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


class DatabaseServer(snowlease_e2e.Server):
    """snowlease-server on a new database of a server of the benchmark's."""

    def __init__(self, directory, database, *arguments, name):
        self.database = database
        self.database_name = database.new_database()
        super().__init__(directory, *arguments, store=database.url_of(self.database_name), name=name)

    def counters(self):
        """What the service and its database have used since they were started."""
        counters = {"cpu": self.cpu_seconds() + self.database.cpu_seconds(), "database cpu": self.database.cpu_seconds(),
                    "renewals": self.metric("snowlease_renewals_total")}
        if isinstance(self.database, database_servers.Postgres):
            counters.update(self.database.counters(self.database_name))
        return counters


def start_servers(directory, databases):
    """By name, started; the caller ends them."""
    servers = {"no-op": NoopServer(directory),
               "memory": snowlease_e2e.Server(directory, store="memory:", name="memory"),
               "sqlite": snowlease_e2e.Server(directory, store="bench.db", name="sqlite")}
    for name, database in databases.items():
        servers[name] = DatabaseServer(directory, database, name=name)
    for server in servers.values():
        server.start()
    return servers


def _bench_command(server, arguments):
    return [str(part) for part in (snowlease_e2e.CLI, f"--server={server.target}", "bench", *arguments, "-o", "json")]


def _checked(server, arguments, code, out, err):
    if code != 0:
        sys.exit(f"snowlease bench {arguments} failed on {server.log_path.stem}:\n{out}{err}")
    result = json.loads(out)
    if result["errors"]:
        sys.exit(f"snowlease bench {arguments} on {server.log_path.stem}: {result['errors']}")
    return result


def bench(server, *arguments):
    """The JSON that `snowlease bench` prints."""
    done = snowlease_e2e.run(*_bench_command(server, arguments), timeout=300)
    return _checked(server, arguments, done.returncode, done.stdout, done.stderr)


def bench_with_counters(server, seconds, *arguments):
    """The same, and what each renewal cost in the middle of the run, where nothing but renewals happens."""
    process = subprocess.Popen(_bench_command(server, arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, preexec_fn=snowlease_e2e.die_with_parent())
    begun = server.metric("snowlease_renewals_total")
    snowlease_e2e.eventually(lambda: process.poll() is not None or
                             server.metric("snowlease_renewals_total") > begun, 60, "the first renewal")
    time.sleep(COUNTED_WARM_UP_SECONDS)
    before = server.counters()
    time.sleep(seconds * 0.9)
    after = server.counters()
    out, err = process.communicate(timeout=120)
    result = _checked(server, arguments, process.returncode, out, err)
    used = {name: after[name] - before[name] for name in after}
    return result, used


def _costs(name, used):
    renewals = used["renewals"]
    values = {("cpu us", name): used["cpu"] * 1e6 / renewals,
              ("database cpu us", name): used["database cpu"] * 1e6 / renewals}
    if "wal" in used:
        values["wal bytes", name] = used["wal"] / renewals
        if not used["updates"]:
            sys.exit("PostgreSQL has published no updates: is the machine too busy, or --seconds too small?")
        values["hot share", name] = used["hot"] / used["updates"]
    return values


def service_loads(servers, seconds):
    """Each load on each server in turn, so that a slow moment of the machine meets all of them."""
    values = {}
    duration = ("--duration", f"{seconds:g}s")
    warm = ("--warmup", f"{WARM_UP_SECONDS:g}s")

    def measure(what, field, *arguments):
        for name, server in servers.items():
            values[what, name] = bench(server, *arguments)[field]

    for outstanding in OUTSTANDING:
        arguments = ("renew", "--outstanding", outstanding, "--channels", 4, "--leases", 2048)
        if outstanding != 512:
            measure(f"renew {outstanding}", "per_second", *arguments, *duration, *warm)
            continue
        for name, server in servers.items():
            if isinstance(server, DatabaseServer):
                counted = max(seconds, COUNTED_SECONDS)
                result, used = bench_with_counters(server, counted, *arguments, "--duration", f"{counted:g}s",
                                                   "--warmup", f"{COUNTED_WARM_UP_SECONDS:g}s")
                values.update(_costs(name, used))
            else:
                result = bench(server, *arguments, *duration, *warm)
            values["renew 512", name] = result["per_second"]
    measure("renew alone p50", "p50_us", "renew", "--outstanding", 1, "--channels", 1, "--leases", 1, *warm, *duration)
    measure("keepalive", "per_second", "keepalive", "--outstanding", 512, "--channels", 4, "--leases", 2048, *warm,
            *duration)
    measure("claim 512", "per_second", "claim", "--outstanding", 512, "--channels", 4, "--leases", 4096, *duration)
    measure("claim 1", "per_second", "claim", "--outstanding", 1, "--channels", 1, "--leases", 4096, *duration)
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


def etcd_loads(etcd, seconds):
    values = {}
    for load, outstanding, channels in (("grant", 512, 4), ("grant", 1, 1), ("keepalive", 512, 4), ("put", 512, 4)):
        done = snowlease_e2e.run(snowlease_e2e.BIN / "snowlease-etcd-benchmark", f"127.0.0.1:{etcd.port}", load,
                                 outstanding, channels, seconds, timeout=120)
        if done.returncode != 0:
            sys.exit(f"etcd {load}: {done.stderr}")
        values[f"{load} {outstanding}", "etcd"] = json.loads(done.stdout)["per_second"]
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
