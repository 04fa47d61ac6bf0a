"""A PostgreSQL server of one's own, for tests and benchmarks.

It listens on a socket in a temporary folder only, writes to disk as honestly as any other (with
``fsync``), and is gone with its folder afterwards.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Self
from urllib.parse import quote

USER = "tacit"

_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "16MB",
    "max_connections": "60",
    "max_wal_size": "256MB",
    "log_min_messages": "fatal",
}


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, or None where it is not installed."""
    installed = sorted(glob("/usr/lib/postgresql/*/bin/initdb"), key=_version, reverse=True)
    on_path = shutil.which("initdb")
    found = [*installed, *([on_path] if on_path else [])]
    return Path(found[0]).resolve().parent if found else None


def _version(program: str) -> float:
    try:
        return float(Path(program).parts[-3])
    except ValueError:
        return 0.0


class PostgresServer:
    """A server that runs while the ``with`` block does.

    Root must not run one: then it runs as ``postgres``, or as ``nobody``.
    """

    def __init__(self) -> None:
        found = programs()
        if found is None:
            raise RuntimeError("PostgreSQL is not installed: its initdb was not found.")
        self._programs = found
        self._owner = _unprivileged_user()
        # Not under the caller's temporary folder, which other users may not enter.
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-pg-", dir="/tmp"))
        self._process: subprocess.Popen[bytes] | None = None
        if self._owner is not None:
            os.chown(self.folder, self._owner.pw_uid, self._owner.pw_gid)

    def __enter__(self) -> Self:
        try:
            self._run(
                ["initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C"]
                + ["--no-sync"]
            )
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> str:
        return str(self.folder / "data")

    def url(self, schema: str | None = None) -> str:
        """Return the URL of the database, with a schema as its search path."""
        options = "" if schema is None else f"&options=-csearch_path%3D{schema}"
        return f"postgresql://{USER}@/postgres?host={quote(str(self.folder), safe='')}{options}"

    def create_schema(self, name: str) -> str:
        """Make an empty schema, a place for one ledger, and return its URL."""
        self.execute(f'CREATE SCHEMA "{name}"')
        return self.url(name)

    def execute(self, statement: str, schema: str | None = None) -> list[tuple[object, ...]]:
        """Run one statement outside any transaction, as the superuser."""
        import psycopg

        with psycopg.connect(self.url(schema), autocommit=True) as connection:
            done = connection.execute(statement)
            return list(done.fetchall()) if done.description else []

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        settings = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self._process = self._popen(
                ["postgres", "-D", self._data, "-k", str(self.folder), *settings], log.fileno()
            )
        self._wait_until_ready()

    def stop(self, mode: str = "fast") -> None:
        """Stop: ``fast`` with a checkpoint, ``immediate`` as a crash would."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGINT if mode == "fast" else signal.SIGQUIT)
        process.wait(60)

    def restart(self, mode: str = "fast") -> None:
        """Stop and start again."""
        self.stop(mode)
        self.start()

    def move_ledger(self, url: str, disk: Path) -> None:
        """Move all tables of a ledger's schema to another disk, on which this server may write."""
        place, schema = disk.name.replace("-", "_"), _schema(url)
        self.execute(f"CREATE TABLESPACE {place} LOCATION '{disk}'")
        found = self.execute(f"SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'")
        for (name,) in found:
            self.execute(f"ALTER TABLE {name} SET TABLESPACE {place}", schema)

    def drop_ledger(self, url: str) -> None:
        """Remove a ledger's schema, and the tablespace that ``move_ledger`` made for it."""
        schema = _schema(url)
        found = self.execute(
            "SELECT DISTINCT spcname FROM pg_class c JOIN pg_tablespace t "
            f"ON t.oid = c.reltablespace WHERE c.relnamespace = '{schema}'::regnamespace"
        )
        self.execute(f"DROP SCHEMA {schema} CASCADE")
        for (place,) in found:
            self.execute(f"DROP TABLESPACE {place}")
            self.execute("CHECKPOINT")  # or a crash would be replayed onto a disk that has gone

    def cut_connections(self) -> int:
        """End every connection to the database; return how many there were."""
        found = self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return len(found)

    def _wait_until_ready(self) -> None:
        import psycopg

        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                assert self._process is not None
                if self._process.poll() is not None or time.monotonic() > until:
                    log = (self.folder / "log").read_text(errors="replace")[-2000:]
                    raise RuntimeError(f"PostgreSQL did not start: {log}") from error
                time.sleep(0.02)

    def _run(self, command: Sequence[str]) -> None:
        done = self._popen(command, subprocess.PIPE)
        output, _ = done.communicate(timeout=120)
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {output.decode(errors='replace')[-2000:]}")

    def _popen(self, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        owner = self._owner
        return subprocess.Popen(
            [str(self._programs / command[0]), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=self.folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            start_new_session=True,  # an interrupt from the keyboard is for the caller
            user=None if owner is None else owner.pw_uid,
            group=None if owner is None else owner.pw_gid,
            extra_groups=None if owner is None else [],
        )


def _unprivileged_user() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("PostgreSQL does not run as root, and there is no user to run it as.")


def _schema(url: str) -> str:
    return url.rpartition("%3D")[2]
