"""Clusters of real database servers: PostgreSQL with a standby, Galera, a single MariaDB.

They run without rights of the machine, in memory (a killed process loses nothing there that it
had flushed), on free loopback ports, and die with the test.
"""

import contextlib
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from snowlease_e2e import die_with_parent, eventually

PASSWORD = "se/cret"
_PASSWORD_IN_URL = "se%2Fcret"


def free_ports(count):
    """Ports that differ from each other."""
    with contextlib.ExitStack() as probes:
        sockets = [probes.enter_context(socket.socket()) for _ in range(count)]
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in sockets]


def _account():
    """Whom the databases run as; they refuse root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def make_folder():
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = pathlib.Path(tempfile.mkdtemp(prefix="snowlease-ha-", dir=base))
    give_away(folder)
    return folder


def give_away(path):
    account = _account()
    if account is not None:
        os.chown(path, account.pw_uid, account.pw_gid)


def remove_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)


def launch(command, log):
    account = _account()
    who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    with open(log, "ab") as out:
        return subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                cwd="/", env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
                                preexec_fn=die_with_parent(), **who)


def finish(command, log, timeout=30):
    """Runs a program of the database to its end, which must be a good one."""
    process = launch(command, log)
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        code = "timeout"
    if code != 0:
        raise AssertionError(f"{command[0]}: {code}\n{pathlib.Path(log).read_text(errors='replace')}")


class _Node:
    """A server process with a folder of its own."""

    def __init__(self, folder, name):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        give_away(self.folder)
        self.log = self.folder / "log"
        self.data = self.folder / "data"
        self.process = None

    def children(self):
        with contextlib.suppress(OSError):
            pid = self.process.pid
            return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return []

    def kill(self):
        """SIGKILL to it and its children, as when the host dies."""
        if self.process is None or self.process.poll() is not None:
            return
        children = self.children()
        for pid in [self.process.pid, *children]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for pid in children:
            eventually(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 10, "the end of a killed child")

    def await_answer(self, timeout=40):
        def answers():
            if self.process.poll() is not None:
                raise AssertionError(f"the database has ended:\n{self.last_lines()}")
            return self.try_sql("SELECT 1") is not None
        try:
            eventually(answers, timeout, "an answer of the database")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.last_lines()}") from None

    def last_lines(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-40:])

    def sql(self, text, timeout=20):
        """Its answer as text; AssertionError when it refuses."""
        result = self._client(text, timeout)
        if result.returncode != 0:
            raise AssertionError(f"{text}: {result.stderr}")
        return result.stdout.strip()

    def try_sql(self, text):
        """As sql; None when it refuses."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            result = self._client(text, 5)
            return result.stdout.strip() if result.returncode == 0 else None
        return None


class PostgresNode(_Node):
    """One PostgreSQL server; `settings` are NAME=VALUE."""

    def __init__(self, folder, name, settings=(), port=None):
        super().__init__(folder, name)
        self.port = port or free_ports(1)[0]
        self.settings = list(settings)

    @staticmethod
    def program(name):
        versions = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"),
                          key=lambda path: int(path.parts[-3]))
        if not versions:
            raise AssertionError(f"PostgreSQL's {name} is not installed: run scripts/setup")
        return versions[-1]

    def create(self):
        finish([self.program("initdb"), "-D", self.data, "-U", "snowlease", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync"], self.log)
        return self

    def clone(self, primary, slot):
        """A copy of a running primary that follows it when started; the primary calls it by its slot's name."""
        shutil.rmtree(self.data, ignore_errors=True)
        finish([self.program("pg_basebackup"), "-D", self.data, "-R", "-X", "stream", "-c", "fast", "--no-sync", "-d",
                f"host=127.0.0.1 port={primary.port} user=snowlease application_name={slot}"], self.log)
        return self

    def start(self):
        settings = ["listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "fsync=on",
                    "max_connections=100", "shared_buffers=64MB", *self.settings]
        self.process = launch([self.program("postgres"), "-D", self.data,
                               *[word for setting in settings for word in ("-c", setting)]], self.log)
        self.await_answer()
        return self

    def promote(self):
        finish([self.program("pg_ctl"), "promote", "-w", "-D", self.data], self.log)

    def _client(self, text, timeout):
        return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d",
                               f"host=127.0.0.1 port={self.port} user=snowlease dbname=postgres connect_timeout=3",
                               "-c", text], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def postgres_url(*nodes, options="target_session_attrs=read-write"):
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"postgresql://snowlease@{hosts}/postgres?{options}"


class MariaNode(_Node):
    """One MariaDB server; with a cluster, a node of Galera."""

    def __init__(self, folder, name, galera=False):
        super().__init__(folder, name)
        self.port, self.group_port, self.state_port, self.increment_port = free_ports(4)
        self.galera = galera
        # Sockets have short names only.
        self.socket = self.folder / "s"

    def create(self):
        finish(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--skip-test-db",
                "--auth-root-authentication-method=normal", "--skip-name-resolve", "--innodb-log-file-size=32M"],
               self.log)
        return self

    def _command(self):
        command = ["mariadbd", "--no-defaults", f"--datadir={self.data}", f"--socket={self.socket}",
                   f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
                   "--innodb-flush-log-at-trx-commit=1", "--innodb-log-file-size=32M", "--innodb-buffer-pool-size=64M",
                   "--performance-schema=off"]
        return command

    def _galera_options(self, cluster):
        return ["--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so", "--binlog-format=ROW",
                "--innodb-autoinc-lock-mode=2", "--wsrep-cluster-name=snowlease", "--wsrep-sst-method=rsync",
                "--wsrep-cluster-address=gcomm://" + ",".join(f"127.0.0.1:{node.group_port}" for node in cluster),
                f"--wsrep-node-name={self.folder.name}", f"--wsrep-node-address=127.0.0.1:{self.group_port}",
                f"--wsrep-sst-receive-address=127.0.0.1:{self.state_port}",
                f"--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{self.group_port};"
                f"ist.recv_addr=127.0.0.1:{self.increment_port};gcache.size=64M"]

    def launch(self, cluster=()):
        """Starts it; `cluster` are nodes to join, none begins a new one."""
        options = self._galera_options(cluster) if self.galera else []
        position = self._position(options) if self.galera and (self.data / "grastate.dat").exists() else []
        self.data.mkdir(exist_ok=True)
        give_away(self.data)
        self.process = launch([*self._command(), *options, *position], self.log)

    def start(self, cluster=()):
        self.launch(cluster)
        self.await_answer()
        if self.galera:
            self.await_synced()
        return self

    def _position(self, options):
        """How far it had come before it was killed, as systemd's unit finds it out."""
        log = self.folder / "recovery.log"
        log.unlink(missing_ok=True)
        finish([*self._command(), *options, "--wsrep-recover"], log)
        found = re.findall(r"Recovered position:\s*(\S+)", log.read_text(errors="replace"))
        return [f"--wsrep-start-position={found[-1]}"] if found else []

    def await_synced(self):
        eventually(lambda: (self.try_sql("SHOW STATUS LIKE 'wsrep_local_state_comment'") or "").endswith("Synced"),
                   30, "the synchronisation of the node")

    def status(self, name):
        return self.sql(f"SHOW STATUS LIKE '{name}'").split("\t")[-1]

    def make_user(self):
        self.sql(f"CREATE DATABASE snowlease; CREATE USER snowlease@'%' IDENTIFIED BY '{PASSWORD}'; "
                 "GRANT ALL ON snowlease.* TO snowlease@'%'")

    def _client(self, text, timeout):
        return subprocess.run(["mariadb", "--no-defaults", "-uroot", "-N", "-B", f"--socket={self.socket}", "-e", text],
                              capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def mysql_url(*nodes, options=""):
    hosts = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"mysql://snowlease:{_PASSWORD_IN_URL}@{hosts}/snowlease{options}"
