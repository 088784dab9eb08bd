"""Stores without the service, and fleets: many leases, full namespaces, claims of all at once."""

import json
import sys
import tempfile

import bench_loads
import snowlease_e2e

BATCHES = (1, 32, 512)
CLIENTS = 8  # of the baseline: one transaction per operation, on as many connections
STORM = 10_000
# Leases of the small and the large namespace, and how many claims are timed one by one.
SMALL_BITS, LARGE_BITS, TIMED_CLAIMS = 11, 20, 500
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def store_benchmark(url, operation, batch, seconds, **options):
    done = snowlease_e2e.run(snowlease_e2e.BIN / "snowlease-store-benchmark", url, operation, batch, seconds,
                             *(f"{name}={value}" for name, value in options.items()), timeout=600)
    if done.returncode != 0:
        sys.exit(f"snowlease-store-benchmark {operation} {batch}: {done.stderr}")
    return json.loads(done.stdout)


def store_loads(databases, seconds):
    """Batches of one operation after the other, on one connection; of databases also the baseline."""
    values = {}
    for operation in ("claim", "renew"):
        for batch in BATCHES:
            with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as directory:
                urls = {"sqlite": f"sqlite:{directory}/bench.db"}
                urls.update({name: database.new_url() for name, database in databases.items()})
                for name, url in urls.items():
                    values[f"store {operation} {batch}", name] = store_benchmark(
                        url, operation, batch, seconds)["per_second"]
        for name, database in databases.items():
            values[f"store {operation} 1 x {CLIENTS}", name] = store_benchmark(
                database.new_url(CLIENTS), operation, 1, seconds, threads=CLIENTS)["per_second"]
    return values


def many_leases(databases, seconds, counts):
    """Batches of 512 renewals, in turn over all leases."""
    return {(f"store renew 512 of {count}", name):
            store_benchmark(database.new_url(), "renew", 512, seconds, leases=count)["per_second"]
            for count in counts for name, database in databases.items()}


def storm(databases):
    """The seconds until all of 10,000 claims that come at once into one namespace have got their lease."""
    values = {}
    with tempfile.TemporaryDirectory(prefix="snowlease-bench-") as directory:
        for name, database in databases.items():
            server = bench_loads.DatabaseServer(directory, database, "--batching-max-queue=20000",
                                                "--batching-max-queue-age=5s", name=f"storm-{name}")
            try:
                server.start()
                result = bench_loads.bench(server, "claim", "-n", "storm", "-b", 14, "--outstanding", STORM, "--leases",
                                           STORM, "--channels", 4, "--duration", "1ms")
            finally:
                server.kill()
            if result["operations"] != STORM:
                sys.exit(f"the storm had {result['operations']} claims")
            values["storm s", name] = result["max_us"] / 1e6
    return values


def _fill(database, name, name_space, bits):
    """Makes a namespace that has held leases, some of them expired, and room for a few more.

    One claim makes the template; its row is copied by SQL.
    """
    store_benchmark(database.url_of(name), "claim", 1, 60, namespace=name_space, bits=bits, most=1)
    held = (1 << bits) - TIMED_CLAIMS
    columns = database.sql("SELECT column_name FROM information_schema.columns WHERE table_name = 'snowlease_lease' "
                           f"AND table_schema IN ('public', '{name}')", name).split()
    expired = f"n >= {held - TIMED_CLAIMS}"
    changed = {"machine_id": "n", "instance_id": "CONCAT('filler-', n)", "safe_guard_ms": str(HOUR_MS)}
    # Times without a value have none in the template.
    changed.update({column: f"{column} - CASE WHEN {expired} THEN {DAY_MS} ELSE 0 END" for column in columns
                    if column in ("floor_ms", "fence_ms", "claimed_at_ms", "renewed_at_ms", "renewed_before_ms",
                                  "watermark_ms", "window_end_ms")})
    values = ", ".join(changed.get(column, column) for column in columns)
    database.sql(f"INSERT INTO snowlease_lease ({', '.join(columns)}) SELECT {values} FROM snowlease_lease "
                 f"CROSS JOIN {database.series(1, held - 1)} WHERE namespace = '{name_space}' AND machine_id = 0", name)
    database.sql(f"DELETE FROM snowlease_expiry_block WHERE namespace = '{name_space}'; "
                 "INSERT INTO snowlease_expiry_block (namespace, block, bound_ms) SELECT namespace, "
                 "FLOOR(machine_id / 256), MIN(renewed_at_ms + safe_guard_ms) FROM snowlease_lease "
                 f"WHERE namespace = '{name_space}' GROUP BY 1, 2; "
                 f"UPDATE snowlease_namespace SET next_machine_id = {held}, held_count = {held} "
                 f"WHERE namespace = '{name_space}'", name)


def claim_latencies(databases):
    """Medians of single claims: a never used id, an expired one, and then that there is none."""
    values = {}
    for name, database in databases.items():
        filled = database.new_database()
        for size, bits in (("small", SMALL_BITS), ("large", LARGE_BITS)):
            _fill(database, filled, size, bits)
        database.analyze(filled)
        for what, operation in (("new", "claim"), ("expired", "claim"), ("overflow", "overflow")):
            for size, bits in (("small", SMALL_BITS), ("large", LARGE_BITS)):
                values[f"{what} {size} us", name] = store_benchmark(
                    database.url_of(filled), operation, 1, 120, namespace=size, bits=bits,
                    most=TIMED_CLAIMS)["p50_us"]
    return values
