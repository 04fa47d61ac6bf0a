"""A process killed between draw, write, commit and reply neither leaks nor overspends.

The work is done by ``ledger_kills.py`` in an interpreter of its own, which forks cheaply.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KILLS = 30
POINTS = ("before-draw", "after-draw", "after-write", "after-commit", "after-reply", "any-moment")

pytestmark = pytest.mark.faults


def kill(point: str, *, kills: int = KILLS, **options: str) -> dict[str, Any]:
    script = Path(__file__).with_name("ledger_kills.py")
    command = [sys.executable, str(script), "--points", point, "--kills", str(kills)]
    for name, value in options.items():
        command += [f"--{name}", value]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_process_leaves_no_unrecorded_answer_and_no_overspend(point: str) -> None:
    found = kill(point)
    assert found["faults"] == 0, found["first_faults"]
    assert found["kills"] >= KILLS


@pytest.mark.parametrize("point", POINTS)
def test_after_a_kill_the_sparse_vector_pays_for_a_new_instance(point: str) -> None:
    found = kill(point, kills=9, mechanism="sparse")
    assert found["faults"] == 0, found["first_faults"]


def test_a_build_that_replies_before_committing_is_caught() -> None:
    found = kill("after-reply", build="replies-first")
    assert found["faults"] > 0


def test_the_points_are_those_of_the_ledger() -> None:
    from tacit.testing.failpoints import POINTS as armed

    assert set(armed) <= set(POINTS)
