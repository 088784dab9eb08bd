"""What keeps a server from starting, and what it then says."""

import contextlib
import os
import socket
import sqlite3
import unittest

from snowlease_e2e import E2ECase, free_port, run_server

NOBODY = 65534


class StartUpTest(E2ECase):
    def start_server(self, *arguments, store=None, grpc=0, http=0, **options):
        store = store or f"sqlite:{self.directory / 'leases.db'}"
        return run_server(f"--store-url={store}", f"--grpc-listen=127.0.0.1:{grpc}",
                          f"--http-listen=127.0.0.1:{http}", *arguments, cwd=self.directory, **options)

    def occupied_port(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return listener.getsockname()[1]

    def test_taken_ports_are_refused_by_setting_and_address(self):
        port = self.occupied_port()
        self.assert_refused(self.start_server(grpc=port), "grpc.listen", f"127.0.0.1:{port}", "in use")
        self.assert_refused(self.start_server(http=port), "http.listen", f"127.0.0.1:{port}", "in use")

    def test_second_server_cannot_share_the_ports_of_the_first(self):
        """Two servers that listen on one port by SO_REUSEPORT would each get half of the calls."""
        first = self.server()
        second = f"sqlite:{self.directory / 'other.db'}"
        self.assert_refused(self.start_server(store=second, grpc=first.grpc_port), "grpc.listen", "in use")
        self.assert_refused(self.start_server(store=second, http=first.http_port), "http.listen", "in use")
        first.api.claim()

    def test_address_that_is_not_of_this_host_is_refused(self):
        for setting in ("grpc", "http"):
            result = run_server("--store-url=memory:", f"--{setting}-listen=192.0.2.1:7070",
                                f"--{'http' if setting == 'grpc' else 'grpc'}-listen=127.0.0.1:0")
            self.assert_refused(result, f"{setting}.listen", "192.0.2.1:7070")

    def test_second_server_on_one_sqlite_file_is_told_who_has_it(self):
        first = self.server()
        result = self.start_server()
        self.assert_refused(result, "leases.db", "in use by process " + str(first.pid), "one server")
        first.api.claim()
        link = self.directory / "link.db"
        link.symlink_to(self.directory / "leases.db")
        self.assert_refused(self.start_server(store=f"sqlite:{link}"), "in use by process")

    def test_lock_of_a_crashed_server_is_free(self):
        server = self.server()
        lease = server.api.claim()
        server.kill()
        server.start()
        server.api.renew(lease)

    def test_directory_of_the_database_is_made(self):
        server = self.server(store="new/deeper/leases.db")
        server.api.claim()
        self.assertTrue((self.directory / "new/deeper/leases.db").is_file())

    def test_directory_as_database_file_is_refused(self):
        result = self.start_server(store=f"sqlite:{self.directory}")
        self.assert_refused(result, "is a directory", "name a file")

    def test_file_as_directory_of_the_database_is_refused(self):
        (self.directory / "file").write_text("no directory")
        result = self.start_server(store=f"sqlite:{self.directory}/file/leases.db")
        self.assert_refused(result, str(self.directory / "file"))

    def test_files_without_write_rights_are_refused_with_what_to_do(self):
        """Root may write everything, so the server then runs as somebody else."""
        as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        prefix = as_nobody if os.geteuid() == 0 else ()
        os.chmod(self.directory, 0o755)
        server = self.server()
        server.api.claim()
        server.stop()
        closed = self.directory / "closed"
        closed.mkdir(mode=0o555)
        for path in self.directory.glob("leases.db*"):
            os.chmod(path, 0o444)
        for store in (self.directory / "leases.db", closed / "leases.db", closed / "new/leases.db"):
            result = self.start_server(store=f"sqlite:{store}", prefix=prefix)
            self.assert_refused(result, str(store.parent), "right")
        os.chmod(closed, 0o755)

    def test_database_directory_that_turned_read_only_names_the_right_that_is_missing(self):
        prefix = (("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
                  if os.geteuid() == 0 else ())
        os.chmod(self.directory, 0o755)
        data = self.directory / "data"
        data.mkdir()
        path = data / "leases.db"
        path.write_bytes(b"")
        if prefix:
            os.chown(path, NOBODY, NOBODY)
        os.chmod(data, 0o555)
        result = self.start_server(store=f"sqlite:{path}", prefix=prefix)
        os.chmod(data, 0o755)
        self.assert_refused(result, str(data), "right")

    def test_file_that_is_no_database_is_left_alone(self):
        path = self.directory / "leases.db"
        text = b"my thesis, the only copy\n" * 400
        path.write_bytes(text)
        self.assert_refused(self.start_server(), "leases.db", "not an SQLite database", "name another file")
        self.assertEqual(path.read_bytes(), text)

    def test_damaged_database_is_refused_or_reported_and_never_served_as_empty(self):
        server = self.server()
        for i in range(300):
            server.api.claim(instance=f"i{i}")
        server.stop()
        path = self.directory / "leases.db"
        pages = bytearray(path.read_bytes())
        self.assertGreater(len(pages), 8 * 4096, "the database has no pages to damage")
        pages[4096:] = b"\xa5" * (len(pages) - 4096)
        path.write_bytes(pages)
        for leftover in self.directory.glob("leases.db-*"):
            leftover.unlink()
        self.assert_refused(self.start_server(), "leases.db", "damaged", "restore the file from a backup")

    def test_database_of_another_program_is_left_alone(self):
        path = self.directory / "leases.db"
        self._execute(path, "CREATE TABLE songs (name TEXT)")
        for mode in ("auto", "check", "off"):
            self.assert_refused(self.start_server(f"--store-migrate={mode}"), "leases.db", "songs", "another program",
                                "name another")
        self.assertEqual(self._execute(path, "SELECT name FROM sqlite_master"), [("songs",)])

    @staticmethod
    def _execute(path, statement):
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            return database.execute(statement).fetchall()

    def test_schema_of_a_newer_version_is_refused_with_both_versions(self):
        self.server().stop()
        path = self.directory / "leases.db"
        self._execute(path, "UPDATE snowlease_schema SET version = 9999, oldest_admitted = 9998")
        self.assert_refused(self.start_server(), "version 9999", "9998", "this one is version 1", "newer")

    def test_missing_tables_with_migrate_off_give_the_command(self):
        """F32, on SQLite."""
        for mode in ("off", "check"):
            result = self.start_server(f"--store-migrate={mode}")
            self.assert_refused(result, "snowlease-server migrate", "--store-migrate=auto")
        store = f"--store-url=sqlite:{self.directory / 'leases.db'}"
        migrated = run_server("migrate", store)
        self.assertEqual(migrated.returncode, 0, migrated.stderr)
        self.server("--store-migrate=off").api.claim()

    def test_five_servers_start_after_each_other_on_one_port(self):
        """A port in TIME_WAIT is no port in use."""
        ports = (free_port(), free_port())
        for _ in range(5):
            server = self.server(ports=ports)
            server.api.claim(instance=f"pid-{server.pid}")
            self.assertEqual(server.stop(), 0)

    def test_healthcheck_tells_by_exit_code_and_text(self):
        server = self.server()
        good = run_server("healthcheck", f"--grpc-listen={server.target}")
        self.assertEqual(good.returncode, 0, good.stderr)
        server.stop()
        bad = run_server("healthcheck", f"--grpc-listen={server.target}")
        self.assert_refused(bad, server.target)


if __name__ == "__main__":
    unittest.main()
