"""F36 at the service: many callers on one SQLite file, and another process that writes into it.

No caller ever sees that the file was busy.
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import snowlease_e2e  # noqa: E402  (its folder is not a package)

CALLERS = 50
OPERATIONS = 50_000
# Holds the write lock of the database for a moment, a hundred times.
INTRUDER = "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS intruder (x); INSERT INTO intruder VALUES (1); COMMIT;\n" * 100


class SqliteContentionTest(snowlease_e2e.E2ECase):
    def bench(self, server, load):
        command = [str(snowlease_e2e.CLI), f"--server={server.target}", "-o", "json", "bench", load,
                   f"--namespace={load}", f"--outstanding={CALLERS}", f"--leases={CALLERS}", "--duration=4s"]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=snowlease_e2e.clean_environment(),
                                preexec_fn=snowlease_e2e.die_with_parent())

    def test_no_caller_sees_a_busy_file(self):
        server = self.server()
        loads = [self.bench(server, load) for load in ("renew", "claim", "keepalive")]
        intruder = snowlease_e2e.run("sqlite3", "-cmd", ".timeout 20000", self.directory / "leases.db",
                                     stdin=INTRUDER, timeout=60)
        self.assertEqual((intruder.returncode, intruder.stderr), (0, ""))
        operations = 0
        for load in loads:
            output, talk = load.communicate(timeout=60)
            self.assertEqual(load.returncode, 0, talk)
            result = json.loads(output)
            self.assertEqual(result["errors"], {})
            operations += result["operations"]
        self.assertGreater(operations, OPERATIONS / 10)
        print(f"{operations:.0f} operations of {3 * CALLERS} callers, none refused")


if __name__ == "__main__":
    unittest.main()
