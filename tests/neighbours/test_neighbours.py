"""One record changes one teacher and nothing public: the short run (``run.py`` is the long one)."""

from __future__ import annotations

import pytest

pytest.importorskip("pandas")

from tests.neighbours.check import Name, check, differences
from tests.neighbours.compare import compare
from tests.neighbours.containers import NotBuilt
from tests.neighbours.observe import observe
from tests.neighbours.pairs import PATHS, Pair, draw_pair
from tests.neighbours.planted import BUGS

FIRST = 1_000_000
"""Seeds of this run are others than those of the long one."""


def failures(stage: str, seeds: range, path: str | None = None) -> list[str]:
    verdicts = [check(Name(stage, seed, path)) for seed in seeds]
    assert sum(one.outcome == "passed" for one in verdicts) > len(seeds) // 4
    return [
        f"{one.name} {one.description} {[str(failure) for failure in one.failures]}"
        for one in verdicts
        if one.outcome == "failed"
    ]


@pytest.mark.parametrize("path", PATHS)
def test_one_record_changes_one_teacher(path):
    n = 6 if path == "shards" else 20
    assert failures("pair", range(FIRST, FIRST + n), path) == []


def test_complete_fits_show_nothing_else():
    assert failures("fit", range(FIRST, FIRST + 16)) == []


def test_the_command_line_shows_nothing_else():
    assert failures("cli", range(FIRST, FIRST + 2)) == []
    assert failures("process", range(FIRST, FIRST + 1)) == []


# ---- the harness itself -------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PATHS, "fit"])
def test_the_same_side_twice_is_the_same(path):
    done = 0
    for seed in range(FIRST, FIRST + 20):
        pair = draw_pair(seed, path)
        try:
            first = observe(pair, 0, complete=True, before=None)
        except NotBuilt:
            continue
        assert compare(first, observe(pair, 0, complete=True, before=first)) == []
        done += first.record.reached
        if done == 2:
            return
    raise AssertionError("no pair reached a mechanism")


def holds(pair: Pair) -> bool:
    try:
        found, first = differences(pair)
    except NotBuilt:
        return False
    return found == [] and first.record.reached


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name):
    bug = BUGS[name]
    for seed in range(FIRST, FIRST + 400):
        pair = draw_pair(seed, bug.path)
        if not bug.touches(pair):
            continue
        try:
            with bug.plant():
                found, _ = differences(pair)
        except NotBuilt:
            continue
        if found and holds(pair):
            return
    raise AssertionError(f"no pair finds {name}")
