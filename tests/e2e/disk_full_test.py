"""A disk without room: a small tmpfs in a mount namespace of the test's own."""

import os
import subprocess
import sys
import time
import unittest

from json_api import ApiError, now_ms
from snowlease_e2e import E2ECase, eventually

IN_NAMESPACE = "E2E_IN_MOUNT_NAMESPACE"


def enter_mount_namespace():
    """Runs this program again where mounts vanish with it, however it ends."""
    if os.environ.get(IN_NAMESPACE):
        return
    as_root = () if os.geteuid() == 0 else ("--user", "--map-root-user")
    os.environ[IN_NAMESPACE] = "1"
    os.execvp("unshare", ["unshare", *as_root, "--mount", "--", sys.executable, *sys.argv])


class DiskFullTest(E2ECase):
    def small_disk(self, size):
        path = self.directory / "disk"
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path], check=True)

        def unmount():
            for server in self.servers:
                server.kill()
            subprocess.run(["umount", path], check=True)
        self.addCleanup(unmount)
        return path

    @staticmethod
    def fill(path):
        """Takes all room that is left."""
        with open(path, "ab", buffering=0) as ballast:
            for size in (65536, 4096):
                try:
                    while ballast.write(b"\0" * size) == size:
                        pass
                except OSError:
                    pass

    def test_full_disk_refuses_with_what_to_do_and_recovers_by_itself(self):
        disk = self.small_disk("4m")
        server = self.server("--admin-enabled", store="disk/leases.db")
        acknowledged = {}
        for i in range(50):
            acknowledged[f"before{i}"] = server.api.claim(instance=f"before{i}")
        self.fill(disk / "ballast")
        error = self._claim_until_refused(server, acknowledged)
        self.assertEqual((error.reason, error.status), ("STORE_UNAVAILABLE", 503), str(error))
        for text in ("no room left", "leases.db", "free disk space"):
            self.assertIn(text, error.message)
        self._stays_alive(server)
        (disk / "ballast").unlink()
        self._compare(server, acknowledged)
        acknowledged["after"] = self._claim_within(server, "after", seconds=10)
        for lease in acknowledged.values():
            server.api.renew(lease, last=now_ms())
        eventually(lambda: server.readiness()[0] == 200, 10, "readiness after space was freed")
        server.signal(9)
        server.wait()
        server.start()
        self._compare(server, acknowledged)

    def _claim_until_refused(self, server, acknowledged):
        for i in range(5000):
            try:
                acknowledged[f"full{i}"] = server.api.claim(instance=f"full{i}", machineBits=10,
                                                            metadata={"filler": "x" * 900})
            except ApiError as error:
                return error
        raise AssertionError("a disk that is full accepted 5000 claims")

    def _stays_alive(self, server):
        """Liveness is about the process only; reads go on; each refused call is refused for the same reason."""
        self.assertEqual(server.get("/livez")[0], 200)
        self.assertGreater(len(server.api.leases("orders")), 0)
        lines = len(server.log().splitlines())
        for i in range(100):
            with self.assert_reason("STORE_UNAVAILABLE"):
                server.api.claim(instance=f"refused{i}", metadata={"filler": "x" * 900})
        self.assertLess(len(server.log().splitlines()) - lines, 5, "a log line for each refused call")

    def _claim_within(self, server, instance, seconds):
        deadline = time.monotonic() + seconds
        while True:
            try:
                return server.api.claim(instance=instance)
            except ApiError as error:
                self.assertEqual(error.reason, "STORE_UNAVAILABLE")
                self.assertLess(time.monotonic(), deadline, "no recovery after space was freed")

    def _compare(self, server, acknowledged):
        stored = {record["instanceId"]: (record["machineId"], record["token"])
                  for record in server.api.leases("orders", "HELD")}
        self.assertEqual(stored, {lease["instanceId"]: (lease["machineId"], lease["token"])
                                  for lease in acknowledged.values()})

    def test_start_on_a_full_disk_says_so(self):
        disk = self.small_disk("64k")
        self.fill(disk / "ballast")
        server = self.server(store="disk/leases.db", start=False)
        with self.assertRaises(AssertionError):
            server.start(ready=False)
        self.assertEqual(server.wait(), 1)
        for text in ("no room left", "leases.db", "free disk space"):
            self.assertIn(text, server.log())


if __name__ == "__main__":
    enter_mount_namespace()
    unittest.main()
