"""A disk that is easily filled."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.postgres import PostgresServer

NOT_ALLOWED = "this user may not mount a file system"


@contextmanager
def small_disk(server: PostgresServer | None) -> Iterator[Path | None]:
    """Mount a small file system, where that is allowed; SQLite's log alone takes four megabytes."""
    owner = 0 if server is None else server.folder.stat().st_uid
    with tempfile.TemporaryDirectory(prefix="tacit-disk-", dir="/tmp") as name:
        os.chmod(name, 0o755)
        options = f"size=8m,mode=700,uid={owner}"
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", name], capture_output=True
        )
        if mounted.returncode:
            yield None
            return
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """Leave no room on a disk, and make some again."""
    filler = disk / "filler"
    subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=4096"], capture_output=True)
    try:
        yield
    finally:
        filler.unlink()
