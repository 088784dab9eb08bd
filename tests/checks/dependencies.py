"""Who may include whom: one direction, by the paths of includes (docs/adr/0001)."""

import re

import source_tree

BACKENDS = ("memory", "sqlite", "postgres", "mysql", "redis", "zookeeper", "sql")
OURS = re.compile(r"(?:storage|service|client|tests|proto)/")
PROTO = re.compile(r"snowlease/v\d+/|google/rpc/|.*\.pb\.h$")
GRPC = re.compile(r"grpc(?:pp)?/")
DRIVERS = {"sqlite": r"sqlite3\.h$", "postgres": r"pqxx/|libpq-fe\.h$", "mysql": r"mysql|mariadb",
           "redis": r"hiredis/", "zookeeper": r"zookeeper/"}
# An event-driven core has no threads, locks, I/O, clocks or gRPC: the simulation drives it.
CORE = re.compile(r"service/batching/group_committer_core\.(?:h|cc)$")
NOT_IN_CORE = re.compile(r"(?:thread|mutex|shared_mutex|condition_variable|future|atomic|iostream|fstream)$"
                         r"|grpc|spdlog|sys/|unistd\.h|absl/(?:synchronization|time|log)/")
PROTO_ROOMS = ("service/rpc/", "service/http/", "service/server/", "client/", "tests/")


def room(path):
    """The folder that the rules know."""
    parts = path.split("/")
    if parts[0] == "storage" and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def is_store_factory(path):
    return path.startswith("storage/store_factory")


def reason_against(path, included):
    """Why `path` may not include `included`; none when it may."""
    test = source_tree.is_test(path)
    if CORE.search(path) and NOT_IN_CORE.search(included):
        return "an event-driven core has no threads, locks, I/O or gRPC"
    for backend, header in DRIVERS.items():
        if re.match(header, included) and not path.startswith(f"storage/{backend}/") and not test:
            return f"driver headers stop in storage/{backend}"
    # gRPC's own log lines go into ours.
    is_log_bridge = path.startswith("service/log/") and included == "grpc/support/log.h"
    if (PROTO.match(included) or GRPC.match(included)) and not path.startswith(PROTO_ROOMS) and not is_log_bridge:
        return "proto and gRPC types stop in service/rpc, service/http, service/server and client"
    if not OURS.match(included) or test:
        return None
    return reason_between(path, included)


def reason_between(path, included):
    here, there = room(path), room(included)
    if there == "tests":
        return "nothing includes tests"
    if here == "client" and there != "client":
        return "client includes neither storage nor service"
    if there == "client":
        return None if here == "client" else "only the client and tests include client"
    if here.startswith("storage") and there == "service":
        return "storage does not know the service"
    if there.startswith("storage/"):
        return reason_for_storage_room(path, here, there)
    if here.startswith("storage/") and is_store_factory(included):
        return "the factory knows the backends, not the other way round"
    return None


def reason_for_storage_room(path, here, there):
    if here == there or is_store_factory(path):
        return None
    if here.startswith("storage/"):
        return None if there == "storage/sql" else "backends never see each other"
    if here == "storage":
        return "the contract does not know who keeps it"
    if here == "service" and there == "storage/decorators":
        return None
    return "the service knows stores only through the factory"


def problems_in(path, text):
    found = []
    for number, included in source_tree.includes(text):
        reason = reason_against(path, included)
        if reason:
            found.append(f"{path}:{number}: includes {included}: {reason}")
    return found


if __name__ == "__main__":
    source_tree.report([problem for path in source_tree.cpp_files()
                        for problem in problems_in(path, source_tree.read(path))], "dependencies")
