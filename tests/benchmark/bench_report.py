"""The tables of values, targets and gates, and their place in docs/benchmarks.md."""

import datetime
import os
import platform
import re

import bench_loads
import bench_stores

GATE = 0.8
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
SERVERS = {"no-op": "no-op", "memory": "memory", "sqlite": "SQLite", "postgres": "PostgreSQL", "mariadb": "MariaDB"}
STORES = ("sqlite", "postgres", "mariadb")


class Target:
    """A value with the least (or, where less is better, the most) that it should be; None: not measured."""

    def __init__(self, title, value, target, unit="", less_is_better=False):
        self.title, self.value, self.target, self.unit = title, value, target, unit
        self.less_is_better = less_is_better

    def gate(self):
        return self.target / GATE if self.less_is_better else self.target * GATE

    def holds(self, limit):
        return self.value <= limit if self.less_is_better else self.value >= limit

    def row(self):
        sign = "<=" if self.less_is_better else ">="
        verdict = "reached" if self.holds(self.target) else "within the gate" if self.holds(self.gate()) else "MISSED"
        return (f"| {self.title} | {number(self.value)}{self.unit} | {sign} {number(self.target)}{self.unit}"
                f" | {sign} {number(self.gate())}{self.unit} | {verdict} |")


def number(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


class Medians:
    """Values of a run, of which some parts may not have been asked for."""

    def __init__(self, values):
        self.values = values

    def __call__(self, what, server):
        return self.values.get((what, server))

    def ratio(self, a, b):
        above, below = self(*a), self(*b)
        return above / below if above is not None and below else None

    def has(self, *whats):
        return any(what in whats for what, _ in self.values)


def _of_servers(of):
    beyond = None
    if of("renew alone p50", "memory") is not None:
        beyond = of("renew alone p50", "memory") - of("renew alone p50", "no-op")
    noop = ("renew 512", "no-op")
    return [
        Target("Renew, 512 outstanding: SQLite / no-op", of.ratio(("renew 512", "sqlite"), noop), 0.60),
        Target("Renew, 512 outstanding: PostgreSQL / no-op", of.ratio(("renew 512", "postgres"), noop), 0.65),
        Target("Renew, 2048 outstanding: PostgreSQL / no-op",
               of.ratio(("renew 2048", "postgres"), ("renew 2048", "no-op")), 0.85),
        Target("Renew, 512 outstanding: MariaDB / no-op", of.ratio(("renew 512", "mariadb"), noop), 0.55),
        Target("Processor time per Renew, service and PostgreSQL, 512 outstanding", of("cpu us", "postgres"), 80, " us",
               True),
        Target("Log of PostgreSQL per Renew", of("wal bytes", "postgres"), 200, " B", True),
        Target("Heap-only share of PostgreSQL's updates", of("hot share", "postgres"), 0.99),
        Target("KeepAlive, SQLite", of("keepalive", "sqlite"), 20_000, " /s"),
        Target("KeepAlive, PostgreSQL", of("keepalive", "postgres"), 25_000, " /s"),
        Target("KeepAlive, PostgreSQL / etcd, whose are not even persisted",
               of.ratio(("keepalive", "postgres"), ("keepalive 512", "etcd")), 1.2, " x"),
        Target("Claims, 512 outstanding, PostgreSQL / grants of etcd",
               of.ratio(("claim 512", "postgres"), ("grant 512", "etcd")), 2, " x"),
        Target("Claims at the service, SQLite: 512 outstanding / one at a time",
               of.ratio(("claim 512", "sqlite"), ("claim 1", "sqlite")), 8, " x"),
        Target("Renew alone: median beyond the no-op's, memory store (no linger)", beyond, 500, " us", True),
        Target("Memory with 1,000 connections, SQLite", of("rss MiB with connections", "sqlite"), 64, " MiB", True),
        Target("Processor time while idle, SQLite", of("idle cpu %", "sqlite"), 1, " %", True),
    ]


def _of_stores(of):
    alone = f"store claim 1 x {bench_stores.CLIENTS}"
    wanted = [Target("Claims in SQLite: batches of 512 / one by one",
                     of.ratio(("store claim 512", "sqlite"), ("store claim 1", "sqlite")), 8, " x")]
    for store in ("postgres", "mariadb"):
        wanted += [
            Target(f"Claims in {SERVERS[store]}: batches of 512 / one per transaction on {bench_stores.CLIENTS}"
                   " connections", of.ratio(("store claim 512", store), (alone, store)), 5, " x"),
            Target(f"{bench_stores.STORM:,} claims at once, {SERVERS[store]}: all have their lease after",
                   of("storm s", store), 3, " s", True)]
        for what, title in (("new", "never used id"), ("expired", "expired id"), ("overflow", "OVERFLOW")):
            wanted.append(Target(
                f"One claim, {SERVERS[store]}, {title}: median with 10^6 leases / with 10^3",
                of.ratio((f"{what} large us", store), (f"{what} small us", store)), 1.5, " x", True))
    return wanted


def targets(of):
    return [target for target in _of_servers(of) + _of_stores(of) if target.value is not None]


def machine():
    model = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo", encoding="utf-8").read())
    # A kernel's full name says whose build it is, and nothing about speed.
    kernel = re.match(r"\d+\.\d+", platform.release()).group(0)
    return f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), Linux {kernel}"


def _table(head, rows):
    """Rows of (title, values), without those that have no value at all."""
    rows = [(title, values) for title, values in rows if any(value is not None for value in values)]
    if not rows:
        return []
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head),
            *(f"| {title} | {' | '.join(number(value) for value in values)} |" for title, values in rows), ""]


def rates(of):
    titles = {f"renew {n}": f"Renew, {n} outstanding, /s" for n in bench_loads.OUTSTANDING}
    titles.update({"keepalive": "KeepAlive, 512 outstanding, /s", "claim 512": "Claim, 512 outstanding, /s",
                   "claim 1": "Claim, one at a time, /s", "renew alone p50": "Renew, one caller: median, us",
                   "cpu us": "processor time of service and database per Renew at 512, us",
                   "database cpu us": "of which the database, us",
                   "storm s": f"{bench_stores.STORM:,} claims at once, s", "rss MiB": "resident memory, MiB",
                   "rss MiB with connections": "the same with 1,000 connections, MiB",
                   "idle cpu %": "processor time while idle, %"})
    return _table(["", *SERVERS.values()],
                  [(title, [of(what, server) for server in SERVERS]) for what, title in titles.items()])


def store_rates(of):
    alone = f"1 x {bench_stores.CLIENTS}"
    batches = (1, alone, *bench_stores.BATCHES[1:])
    rows = [(f"{operation}, {SERVERS[store]}", [of(f"store {operation} {batch}", store) for batch in batches])
            for operation in ("claim", "renew") for store in STORES]
    return _table(["without the service, /s", "one per transaction", f"on {bench_stores.CLIENTS} connections",
                   *(f"batches of {batch}" for batch in bench_stores.BATCHES[1:])], rows)


def fleet_rates(of):
    counts = sorted({int(what.rsplit(" ", 1)[1]) for what, _ in of.values if what.startswith("store renew 512 of ")})
    lines = _table(["renewals without the service, batches of 512, /s", *(f"{count:,} leases" for count in counts)],
                   [(SERVERS[store], [of(f"store renew 512 of {count}", store) for count in counts])
                    for store in ("postgres", "mariadb")])
    head = ["one claim without the service: median, us"]
    for what in ("never used", "expired", "OVERFLOW"):
        head += [f"{what}, 10^3 leases", "10^6"]
    lines += _table(head, [(SERVERS[store], [of(f"{what} {size} us", store) for what in ("new", "expired", "overflow")
                                             for size in ("small", "large")]) for store in ("postgres", "mariadb")])
    return lines


def etcd_rates(of):
    loads = {"grant 512": "lease grants, 512 outstanding", "grant 1": "one at a time",
             "keepalive 512": "keepalives, 512 outstanding", "put 512": "durable puts, 512 outstanding"}
    if not of.has(*loads):
        return []
    return _table(["", *loads.values()], [("etcd, /s", [of(what, "etcd") for what in loads])])


def render(medians, command, versions):
    """(text, whether a gate was missed)."""
    of = Medians(medians)
    wanted = targets(of)
    lines = [f"`{command}` on {datetime.date.today()}: {machine()}; {', '.join(versions)}; one fdatasync of 4 KiB takes"
             f" {of('fdatasync us', 'disk'):.0f} us. Load generator, server, database and disk share the cores.", "",
             "| | measured | target | gate | |", "| --- | --- | --- | --- | --- |",
             *(target.row() for target in wanted), "", *rates(of), *store_rates(of), *fleet_rates(of), *etcd_rates(of)]
    return "\n".join(lines).rstrip(), any(not target.holds(target.gate()) for target in wanted)


def write(path, text):
    page = path.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
