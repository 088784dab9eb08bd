"""The table of ratios with targets and gates, and its place in docs/benchmarks.md."""

import datetime
import os
import platform
import re

import bench_loads

GATE = 0.8
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"


class Target:
    """A value with the least (or, where less is better, the most) that it should be."""

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
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def targets(medians):
    def ratio(a, b):
        return medians[a] / medians[b]

    return [
        Target("Renew, 512 outstanding: SQLite / no-op", ratio(("renew 512", "sqlite"), ("renew 512", "no-op")), 0.60),
        Target("Claims in the store: batches of 512 / one by one",
               ratio(("store claim 512", "sqlite"), ("store claim 1", "sqlite")), 8, " x"),
        Target("Claims at the service: 512 outstanding / one at a time",
               ratio(("claim 512", "sqlite"), ("claim 1", "sqlite")), 8, " x"),
        Target("KeepAlive, SQLite", medians["keepalive", "sqlite"], 20_000, " /s"),
        Target("Renew alone: median beyond the no-op's, memory store (no linger)",
               medians["renew alone p50", "memory"] - medians["renew alone p50", "no-op"], 500, " us", True),
        Target("Memory with 1,000 connections, SQLite", medians["rss MiB with connections", "sqlite"], 64, " MiB", True),
        Target("Processor time while idle, SQLite", medians["idle cpu %", "sqlite"], 1, " %", True),
    ]


def machine():
    model = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo", encoding="utf-8").read())
    return f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), Linux {platform.release()}"


def rates(medians):
    servers = ("no-op", "memory", "sqlite")
    titles = {"renew alone p50": "Renew, one caller: median, us", "keepalive": "KeepAlive, 512 outstanding, /s",
              "claim 512": "Claim, 512 outstanding, /s", "claim 1": "Claim, one at a time, /s",
              "rss MiB": "resident memory, MiB", "rss MiB with connections": "the same with 1,000 connections, MiB",
              "idle cpu %": "processor time while idle, %"}
    titles.update({f"renew {n}": f"Renew, {n} outstanding, /s" for n in bench_loads.OUTSTANDING})
    lines = ["| | no-op | memory | SQLite | SQLite / no-op |", "| --- | --- | --- | --- | --- |"]
    for what in (f"renew {n}" for n in bench_loads.OUTSTANDING):
        lines.append(rate_row(titles[what], [medians[what, server] for server in servers]))
    for what in ("keepalive", "claim 512", "claim 1", "renew alone p50", "rss MiB", "rss MiB with connections",
                 "idle cpu %"):
        lines.append(rate_row(titles[what], [medians[what, server] for server in servers]))
    return lines


def rate_row(title, values):
    ratio = f"{values[2] / values[0]:.2f}" if values[0] > 0 else "-"
    return f"| {title} | {' | '.join(number(value) for value in values)} | {ratio} |"


def store_rates(medians):
    lines = ["| SQLite without the service, /s | batches of 1 | 32 | 512 |", "| --- | --- | --- | --- |"]
    for operation in ("claim", "renew"):
        values = (number(medians[f"store {operation} {batch}", "sqlite"]) for batch in (1, 32, 512))
        lines.append(f"| {operation} | {' | '.join(values)} |")
    return lines


def render(medians, options):
    """(text, whether a gate was missed)."""
    wanted = targets(medians)
    command = f"tests/benchmark/run --rounds {options.rounds} --seconds {options.seconds:g}"
    lines = [f"`{command}` on {datetime.date.today()}: {machine()}; one fdatasync of 4 KiB takes"
             f" {medians['fdatasync us', 'disk']:.0f} us. Load generator, server and disk share the cores.", "",
             "| | measured | target | gate | |", "| --- | --- | --- | --- | --- |",
             *(target.row() for target in wanted), "", *rates(medians), "", *store_rates(medians)]
    return "\n".join(lines), any(not target.holds(target.gate()) for target in wanted)


def write(path, text):
    page = path.read_text(encoding="utf-8")
    before, rest = page.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")
