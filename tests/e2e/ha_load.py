"""Load for tests that break the database: instances that claim, renew and end their leases.

Every answer is remembered, and compared with what the store has at the end: nothing that was
acknowledged may be missing, and no timestamp may belong to two grants of a machine id.
"""

import collections
import http.client
import json
import random
import threading
import time

from json_api import Api, ApiError, incarnation, now_ms

# What a caller may see while a database is away, and repeats.
TRANSIENT = {"STORE_UNAVAILABLE", "STORE_TIMEOUT", "OVERLOADED"}
# What else may be told to somebody who claims.
TAKEN = {"MACHINE_ID_OVERFLOW", "CLOCK_BEHIND", "WINDOW_OPEN"}


class Grant:
    """What a holder knows of its lease."""

    def __init__(self, lease):
        self.namespace, self.machine_id = lease["namespace"], int(lease["machineId"])
        self.instance, self.token = lease["instanceId"], int(lease["token"])
        self.floor, self.window_end = int(lease["floorMs"]), int(lease["windowEndMs"])
        self.acknowledged_last = 0
        self.released_last = None  # the last timestamp that it named when it asked for its release
        self.released = False

    def end(self):
        """The last timestamp that it may have issued."""
        return self.window_end if self.released_last is None else self.released_last


class Load:
    """On each server `threads` short-lived instances at a time, in common namespaces, and `steady` leases that live on."""

    def __init__(self, servers, namespaces, threads=4, steady=8):
        self.namespaces = namespaces
        self.grants = []
        self.times = []  # of every acknowledged call, on the monotonic clock
        self.refusals = collections.Counter()
        self.messages = []
        self.faults = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        workers = [(self._come_and_go, server, index) for server in servers for index in range(threads)]
        workers += [(self._stay, server, index) for index, server in enumerate(servers) for _ in range(1 if steady else 0)]
        self._steady = steady
        self._threads = [threading.Thread(target=self._guarded, args=(work, Api(server.http_port), f"{number}-{index}"))
                         for number, (work, server, index) in enumerate(workers)]
        for thread in self._threads:
            thread.start()

    # ---- what tests ask ----

    def end(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def acknowledged(self):
        return len(self.times)

    def first_after(self, moment):
        """When the first call after `moment` was acknowledged; None: not yet."""
        return next((at for at in list(self.times) if at > moment), None)

    def longest_gap(self, begin, end):
        """The longest time within [begin, end] without an acknowledged call."""
        marks = [begin, *[at for at in list(self.times) if begin < at < end], end]
        return max(later - earlier for earlier, later in zip(marks, marks[1:]))

    # ---- instances ----

    def _guarded(self, work, api, name):
        try:
            work(api, name)
        except Exception as error:  # a fault of any kind fails the test
            self.faults.append(f"{name}: {error!r}")

    def _call(self, function, *arguments, allowed=(), **fields):
        """Repeats while the store is away; None when told one of `allowed`, or at the end of the test."""
        while True:
            try:
                answer = function(*arguments, **fields)
                with self._lock:
                    self.times.append(time.monotonic())
                return answer
            except ApiError as error:
                with self._lock:
                    self.refusals[error.reason] += 1
                    self.messages.append(str(error))
                if error.reason in allowed:
                    return None
                if error.reason not in TRANSIENT:
                    raise
            except (OSError, http.client.HTTPException) as error:
                # The server itself is never down here.
                raise AssertionError(f"no answer from the server: {error!r}") from error
            if self._stop.wait(0.02):
                return None

    def _claim(self, api, instance, namespace, **fields):
        lease = self._call(api.claim, namespace=namespace, instance=instance, incarnationId=incarnation(),
                           maxWait="3s", allowed=TAKEN, **fields)
        if lease is None:
            return None
        grant = Grant(lease)
        with self._lock:
            self.grants.append(grant)
        return grant, lease

    def _renew(self, api, grant, lease, allowed):
        last = min(now_ms(), grant.window_end)
        renewed = self._call(api.renew, lease, last=last, clientTimeMs=now_ms(), allowed=allowed)
        if renewed is None:
            return False
        grant.window_end = max(grant.window_end, int(renewed["windowEndMs"]))
        grant.acknowledged_last = max(grant.acknowledged_last, last)
        return True

    def _come_and_go(self, api, name):
        """Instances with a short safe guard duration, half of which vanish without a word."""
        dice = random.Random(name)
        for number in range(1_000_000):
            if self._stop.is_set():
                return
            claimed = self._claim(api, f"{name}-{number}", dice.choice(self.namespaces), safeGuardDuration="1s",
                                  machineBits=6)
            if claimed is None:
                self._stop.wait(0.05)
                continue
            grant, lease = claimed
            # Late after a failover, it may be taken over: by the rules, and it is told.
            alive = all(self._renew(api, grant, lease, {"MACHINE_ID_LOST"}) for _ in range(dice.randrange(1, 6)))
            if alive and dice.random() < 0.5:
                self._release(api, grant, lease)

    def _release(self, api, grant, lease):
        grant.released_last = min(max(now_ms(), grant.floor), grant.window_end)
        answer = self._call(api.release, lease, last=grant.released_last, allowed={"MACHINE_ID_LOST"})
        grant.released = answer is not None

    def _stay(self, api, name):
        """Leases that outlive every failover: a loss is a fault."""
        held = []
        while not self._stop.is_set():
            if len(held) < self._steady:
                claimed = self._claim(api, f"steady-{name}-{len(held)}", "steady", safeGuardDuration="300s")
                if claimed is not None:
                    held.append(claimed)
                continue
            for grant, lease in held:
                self._renew(api, grant, lease, ())
                if self._stop.wait(0.005):
                    return

    # ---- the comparison ----

    def check(self, case, api):
        """Compares every acknowledged answer with the store; run the servers with a long lease.history."""
        case.assertEqual(self.faults, [])
        by_id = collections.defaultdict(list)
        for grant in self.grants:
            by_id[grant.namespace, grant.machine_id].append(grant)
        for (namespace, machine_id), grants in sorted(by_id.items()):
            answer = api.admin("getLease", namespace=namespace, machineId=machine_id)
            history = {int(entry["token"]): entry for entry in answer.get("grants", [])}
            self._check_id(case, answer["lease"], history, sorted(grants, key=lambda grant: grant.token))

    @staticmethod
    def _check_id(case, record, history, grants):
        where = f"{record['namespace']}/{record['machineId']}"
        tokens = [grant.token for grant in grants]
        case.assertEqual(len(set(tokens)), len(tokens), f"{where}: a grant was given twice")
        floors = {int(token): int(entry["floorMs"]) for token, entry in history.items()}
        for grant in grants:
            what = f"{where} token {grant.token} of {grant.instance}"
            entry = history.get(grant.token)
            case.assertIsNotNone(entry, f"{what} was acknowledged and is lost; in the store: {json.dumps(record)}")
            case.assertEqual((entry["instanceId"], int(entry["floorMs"])), (grant.instance, grant.floor), what)
            present = int(record["token"]) == grant.token and record["state"] == "LEASE_STATE_HELD"
            stored_end = int(record["windowEndMs"] if present else entry["windowEndMs"])
            if grant.released_last is None:
                case.assertGreaterEqual(stored_end, grant.window_end, f"{what}: an acknowledged window is lost")
            case.assertGreaterEqual(int(record["watermarkMs"]), grant.acknowledged_last, what)
            if grant.released:
                case.assertFalse(present, f"{what}: an acknowledged release is lost")
            later = [token for token in floors if token > grant.token]
            if later:
                case.assertGreaterEqual(floors[min(later)], grant.end(),
                                        f"{what}: token {min(later)} may issue the same timestamps")


class Watch:
    """Asks a server every 50 ms whether it is alive and ready."""

    def __init__(self, server):
        self._server = server
        self.alive = []  # status codes, one per look
        self.ready = []  # (when, status code)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self):
        while not self._stop.wait(0.05):
            self.alive.append(self._status("/livez"))
            self.ready.append((time.monotonic(), self._status("/readyz")))

    def _status(self, path):
        try:
            return self._server.get(path)[0]
        except OSError:
            return 0

    def end(self):
        self._stop.set()
        self._thread.join()

    def not_ready(self):
        """Looks at which it was not ready."""
        return sum(status != 200 for _, status in self.ready)
