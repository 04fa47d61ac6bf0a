"""Frontiers: more budget is never worse, and the remarks are true."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InvalidArgument
from tacit.planning.frontier import SHARES, frontier
from tacit.planning.plots import plot_frontier
from tacit.planning.vote_curve import VoteCurve

CURVE = VoteCurve.guessed({20: 0.72, 100: 0.85})
SIZES = {"n_records": 10_000, "n_points": 100, "delta": 1e-5, "epsilons": (0.02, 0.5, 4.0)}


def test_accuracy_grows_with_epsilon_for_every_mechanism():
    found = frontier(curve=CURVE, **SIZES)
    assert len(found.lines["gaussian"]) == len(found.epsilons)
    assert set(found.lines) == {
        "confident", "exponential", "gaussian", "laplace", "sparse", SHARES,
    }  # fmt: skip
    for name in found.lines:
        values = found.values(name)
        # The best of a jagged curve is averaged with its neighbours: a hair may be lost.
        assert all(
            after >= before - 0.005 for before, after in zip(values, values[1:], strict=False)
        )
    assert json.loads(json.dumps(found.to_dict()))["epsilons"] == [0.02, 0.5, 4.0]


def test_remarks_say_when_the_sparse_vector_wins_and_when_nothing_works():
    hard = frontier(curve=CURVE, **SIZES | {"epsilons": (0.001, 1.0)}).remarks()
    assert "never beats" in hard[0] and "At epsilon 0.001" in hard[1]
    easy = VoteCurve.guessed({20: 0.9999, 21: 0.9999}, correlation=0.01)
    many = frontier(
        n_records=40_000,
        n_points=10_000,
        n_questions=10_000,
        delta=1e-6,
        curve=easy,
        epsilons=[1.0],
    )
    assert "beats Gaussian noise at epsilon 1" in many.remarks()[0]


def test_more_classes_have_no_refusing_mechanisms():
    three = VoteCurve.guessed({50: 0.7, 60: 0.71}, n_classes=3)
    found = frontier(n_records=5000, n_points=50, delta=1e-5, curve=three, epsilons=[1.0])
    assert set(found.lines) == {"exponential", "gaussian", "laplace", SHARES}


def test_pictures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    found = frontier(curve=CURVE, **SIZES | {"epsilons": (0.5, 4.0)})
    first = plot_frontier(found, tmp_path / "frontier.png").read_bytes()
    assert first.startswith(b"\x89PNG")
    assert b"<svg" in plot_frontier(found, tmp_path / "frontier.svg").read_bytes()
    with pytest.raises(InvalidArgument, match="cannot be written"):
        plot_frontier(found, tmp_path / "nowhere" / "frontier.svg")


def test_what_has_no_frontier_is_refused():
    for changed in ({"n_points": 0}, {"n_records": 10}, {"epsilons": ()}):
        with pytest.raises(InvalidArgument):
            frontier(curve=CURVE, **(SIZES | changed))
