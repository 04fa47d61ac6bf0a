"""Whatever breaks, nothing leaves without its record, and nothing is spent twice.

The work is done by ``ledger_faults.py`` in an interpreter of its own, which forks cheaply. Here
every trouble comes a few times; ``./dev faults`` sets TACIT_FAULTS and has each come thirty times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TIMES = int(os.environ.get("TACIT_FAULTS", "3"))
POINTS = (
    "before-draw",
    "after-draw",
    "before-write",
    "after-write",
    "before-commit",
    "after-commit",
    "before-reply",
    "after-reply",
)
STORES = ["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))]

pytestmark = pytest.mark.faults


def run(store: str, *troubles: str, times: int = TIMES, **options: str) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("ledger_faults.py")
    command = [sys.executable, str(script), "--store", store, "--times", str(times)]
    for name, value in options.items():
        command += [f"--{name}", value]
    command += ["--troubles", *troubles]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(found: list[dict[str, Any]], times: int = TIMES) -> None:
    for one in found:
        assert one["faults"] == 0, one
        assert one["times"] >= times or "skipped" in one, one


@pytest.mark.parametrize("store", STORES)
def test_a_client_killed_at_any_point_leaves_no_trace_or_a_record(store: str) -> None:
    check(run(store, *POINTS, "any-moment"))


@pytest.mark.parametrize("store", STORES)
def test_after_a_kill_the_sparse_vector_pays_for_a_new_instance(store: str) -> None:
    check(
        run(store, "after-draw", "after-commit", "after-reply", "any-moment", mechanisms="sparse")
    )


@pytest.mark.parametrize("mechanism", ["gaussian", "sparse"])
@pytest.mark.parametrize("store", STORES)
def test_threads_that_share_transactions_are_killed_together(store: str, mechanism: str) -> None:
    troubles = ("after-draw", "before-commit", "after-commit", "any-moment", "crowd")
    check(run(store, *troubles, threads="4", mechanisms=mechanism))


@pytest.mark.parametrize("store", STORES)
def test_a_full_disk_loses_nothing(store: str) -> None:
    check(run(store, "full-disk", times=min(TIMES, 10)), times=min(TIMES, 10))


@pytest.mark.needs("postgres")
def test_lost_connections_lose_nothing() -> None:
    # Often enough that on a busy machine, too, one lost commit is of a client that is asking.
    found = run("postgres", "cut-connections", "lost-commit", "lost-commit-reply", times=4 * TIMES)
    check(found)
    _, lost, _ = found
    assert lost["noticed"]  # an idle connection is replaced unseen, a lost reply is looked up


@pytest.mark.needs("postgres")
def test_a_server_that_crashes_loses_nothing() -> None:
    times = max(1, TIMES // 6)
    (found,) = run("postgres", "restart", times=times)
    check([found], times)
    assert found["noticed"]


@pytest.mark.parametrize("mechanisms", ["gaussian", "sparse"])
@pytest.mark.parametrize("store", STORES)
def test_a_crowd_uses_the_plan_to_the_last_event_and_not_beyond(
    store: str, mechanisms: str
) -> None:
    """Eight processes on one ledger: no event too many, and none that would still fit."""
    check(run(store, "crowd", times=8, mechanisms=mechanisms), times=8)


@pytest.mark.parametrize("store", STORES)
def test_a_build_that_replies_before_committing_is_caught(store: str) -> None:
    (found,) = run(store, "after-reply", times=max(6, TIMES), build="replies-first")
    assert found["faults"] > 0


def test_the_points_are_those_of_the_ledger() -> None:
    from tests.support.failpoints import POINTS as armed

    assert set(armed) <= set(POINTS)
