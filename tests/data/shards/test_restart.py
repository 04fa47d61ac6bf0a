"""Killed at any time, a second run finishes with the same shards, and repeats nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tacit.data.shards import open_shards, verify_shards
from tacit.data.shards.files import locked
from tacit.errors import InvalidArgument

pytestmark = [pytest.mark.needs("pandas"), pytest.mark.faults]

CHILD = """
import os, signal, sys
from tacit.data.shards import merge
from tacit.data.shards import parts
from tacit.data.shards import write_shards

source, folder, allowed = sys.argv[1], sys.argv[2], int(sys.argv[3])
parts.BATCH_BYTES = parts.PART_BYTES = 700 * 80
merge.WINDOW_BYTES = 600 * 80
merge.WRITERS = 1
replace, done = os.replace, 0

def counted(before, after):
    # Dies now just before a file gets its name, now just after.
    global done
    done += 1
    if done == allowed and allowed % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(before, after)
    if done == allowed:
        os.kill(os.getpid(), signal.SIGKILL)

os.replace = counted
write_shards([source], folder, n_shards=20, identifier="person", label="y",
             key=b"sixteen or more bytes", progress=False)
"""


def names(folder: Path) -> dict[str, int]:
    """Return every finished file that is there, with what changes when it is written again."""
    found = [one for one in folder.rglob("*") if one.is_file() and one.suffix != ".unfinished"]
    return {one.name: one.stat().st_ino for one in found}


def test_killed_again_and_again(source: Path, sharded: Any) -> None:
    folder, kills = source.parent / "killed", 0
    before: dict[str, int] = {}
    for allowed in (1, 2, 5, 6, 3, 9, 4, 100):
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(source), str(folder), str(allowed)],
            capture_output=True,
            text=True,
        )
        after = names(folder)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        kills += 1
        assert "shards.json" not in after
        if "plan.json" in before:
            assert {name: after.get(name) for name in before} == before
        before = after
    assert done.returncode == 0 and kills == 7
    kept = {name: inode for name, inode in before.items() if name in after}
    assert {name: after[name] for name in kept} == kept
    assert not any((folder / name).exists() for name in ("work", "000000.parquet.unfinished"))
    verify_shards(folder)
    assert sharded.contents(open_shards(folder)) == sharded.contents(sharded(source))


def test_one_process_at_a_time(source: Path, sharded: Any) -> None:
    folder = sharded(source).path
    with locked(folder), pytest.raises(InvalidArgument, match="Another process is working"):
        sharded(source)
