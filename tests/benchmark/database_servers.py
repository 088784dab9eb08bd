"""The database servers that the benchmark starts: unprivileged, on the disk, on free loopback ports, with all
that makes their commits durable. They end with the benchmark."""

import http.client
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import snowlease_e2e

TICKS = os.sysconf("SC_CLK_TCK")


def _stat(pid):
    """(parent, processor seconds of it and of its children that have ended)."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return int(fields[1]), sum(int(field) for field in fields[11:15]) / TICKS


class Database:
    """One server process in a folder of its own; `accounts`: whom to run it as when this runs as root."""

    accounts: tuple = ("nobody",)
    stop_signal = signal.SIGTERM

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="snowlease-bench-"))
        self.port = snowlease_e2e.free_port()
        self.process = None
        self.databases = 0
        if os.geteuid() == 0:
            os.chown(self.folder, self._account().pw_uid, self._account().pw_gid)

    def _account(self):
        for name in self.accounts:
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise RuntimeError(f"none of the accounts {self.accounts} exists")

    def _options(self):
        log = open(self.folder / "log", "ab")  # closed with the process that gets it
        options = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "cwd": "/",
                   "preexec_fn": snowlease_e2e.die_with_parent()}
        if os.geteuid() == 0:
            account = self._account()
            options.update(user=account.pw_uid, group=account.pw_gid, extra_groups=[])
        return options

    def prepare(self, *command):
        done = subprocess.run([str(part) for part in command], check=False, timeout=120, **self._options())
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{self.log()}")

    def launch(self, *command):
        self.process = subprocess.Popen([str(part) for part in command], **self._options())

        def answers():
            if self.process.poll() is not None:
                raise RuntimeError(f"{command[0]} ended:\n{self.log()}")
            return self.answers()
        snowlease_e2e.eventually(answers, 60, f"the start of {command[0]}")
        return self

    def answers(self):
        raise NotImplementedError

    def log(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def cpu_seconds(self):
        """Of the server and all its processes, those that have ended included."""
        processes = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    processes[int(entry)] = _stat(entry)
                except (FileNotFoundError, ProcessLookupError):
                    continue
        return sum(seconds for pid, (parent, seconds) in processes.items()
                   if self.process.pid in (pid, parent))

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)



class Postgres(Database):
    title = "PostgreSQL"
    accounts = ("postgres", "nobody")
    stop_signal = signal.SIGINT  # without waiting for its clients

    def start(self):
        programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        self.prepare(programs / "initdb", "-D", self.folder / "data", "-U", "snowlease", "-A", "trust", "-E", "UTF8",
                     "--locale=C")
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "fsync": "on",
                    "synchronous_commit": "on", "full_page_writes": "on", "shared_buffers": "512MB",
                    "max_wal_size": "8GB", "checkpoint_timeout": "30min"}
        return self.launch(programs / "postgres", "-D", self.folder / "data",
                           *(f"--{name}={value}" for name, value in settings.items()))

    def answers(self):
        return self._psql("postgres", "SELECT 1").returncode == 0

    def _psql(self, database, sql):
        return snowlease_e2e.run("psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", self.port, "-U", "snowlease",
                                 "-d", database, "-v", "ON_ERROR_STOP=1", "-c", sql, timeout=600)

    def sql(self, sql, database="postgres"):
        """The last line that the statements print."""
        done = self._psql(database, sql)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def version(self):
        return "PostgreSQL " + self.sql("SHOW server_version").split()[0]

    def new_database(self):
        self.databases += 1
        name = f"bench{self.databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url_of(self, name, options=""):
        return f"postgresql://snowlease@127.0.0.1:{self.port}/{name}" + (f"?{options}" if options else "")

    def new_url(self, connections=1):
        # One connection of the store is for reads.
        return self.url_of(self.new_database(), f"connections={connections + 1}")

    def series(self, first, last):
        """A table whose column n counts."""
        return f"generate_series({first}, {last}) AS numbers (n)"

    def analyze(self, name):
        """As its own housekeeping does after such a change."""
        self.sql("VACUUM ANALYZE", name)

    def counters(self, name):
        """Bytes of the log so far; updates of leases, and those that were heap-only."""
        wal = self.sql("SELECT pg_current_wal_lsn() - '0/0'")
        updates = self.sql("SELECT n_tup_upd || ' ' || n_tup_hot_upd FROM pg_stat_user_tables "
                           "WHERE relname = 'snowlease_lease'", name).split() or ["0", "0"]
        return {"wal": float(wal), "updates": float(updates[0]), "hot": float(updates[1])}


class MariaDb(Database):
    title = "MariaDB"
    accounts = ("mysql", "nobody")

    def start(self):
        self.prepare("mariadb-install-db", "--no-defaults", f"--datadir={self.folder / 'data'}",
                     "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve")
        self.launch("mariadbd", "--no-defaults", f"--datadir={self.folder / 'data'}", f"--socket={self.folder / 's'}",
                    f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
                    "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=1", "--innodb-buffer-pool-size=512M",
                    "--innodb-log-file-size=2G", "--performance-schema=off")
        self.sql("CREATE USER snowlease@'127.0.0.1'; GRANT ALL ON *.* TO snowlease@'127.0.0.1'")
        return self

    def answers(self):
        return self._run("mysql", "SELECT 1").returncode == 0

    def _run(self, database, sql):
        return snowlease_e2e.run("mariadb", "--no-defaults", "-N", "-B", "-u", "root", f"--socket={self.folder / 's'}",
                                 database, "-e", sql, timeout=600)

    def sql(self, sql, database="mysql"):
        done = self._run(database, sql)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def version(self):
        return "MariaDB " + re.match(r"[0-9.]+", self.sql("SELECT VERSION()")).group(0)

    def new_database(self):
        self.databases += 1
        name = f"bench{self.databases}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def url_of(self, name, options=""):
        return f"mariadb://snowlease@127.0.0.1:{self.port}/{name}" + (f"?{options}" if options else "")

    def new_url(self, connections=1):
        return self.url_of(self.new_database(), f"connections={connections}")

    def series(self, first, last):
        return f"(SELECT seq AS n FROM seq_{first}_to_{last}) AS numbers"

    def analyze(self, name):
        self.sql("ANALYZE TABLE snowlease_lease, snowlease_expiry_block", name)


class Etcd(Database):
    title = "etcd"

    def start(self):
        peer = f"http://127.0.0.1:{snowlease_e2e.free_port()}"
        client = f"http://127.0.0.1:{self.port}"
        return self.launch("etcd", "--name=bench", f"--data-dir={self.folder / 'data'}",
                           f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
                           f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
                           f"--initial-cluster=bench={peer}", "--log-level=warn", "--quota-backend-bytes=4294967296")

    def answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/health")
            return b"true" in connection.getresponse().read()
        except OSError:
            return False
        finally:
            connection.close()

    def version(self):
        return "etcd " + re.search(r"etcd Version: (\S+)", snowlease_e2e.run("etcd", "--version").stdout).group(1)
