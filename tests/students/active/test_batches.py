"""A strategy and a labelling service take turns."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import InvalidArgument
from tacit.students.active import Margin, Random, ask_in_batches

X = np.random.default_rng(0).normal(size=(80, 2))
Y = (X[:, 0] > 0).astype(int)


def rng():
    return np.random.default_rng(5)


def test_every_question_is_asked_once_and_labels_stay_with_their_points():
    found = ask_in_batches(Margin(), X, lambda at: Y[at], 40, rng())
    assert len(set(found.positions.tolist())) == 40
    assert np.array_equal(found.labels, Y[found.positions])
    assert found.batches == (10, *[2] * 15)
    assert found.stopped == "budget"


def test_a_pool_smaller_than_the_budget_is_asked_whole():
    found = ask_in_batches(Random(), X, lambda at: Y[at], 100, rng())
    assert (len(found.positions), found.stopped) == (80, "pool")


def test_a_service_that_stops_ends_the_run_after_its_last_answer():
    left = [25]

    def ask(at):
        given = Y[at][: left[0]]
        left[0] -= len(given)
        return given

    found = ask_in_batches(Random(), X, ask, 40, rng())
    assert (len(found.positions), found.stopped) == (25, "service")


def test_a_run_goes_on_where_another_ended():
    first = ask_in_batches(Random(), X, lambda at: Y[at], 20, rng())
    both = ask_in_batches(Margin(), X, lambda at: Y[at], 50, rng(), start=first)
    assert np.array_equal(both.positions[:20], first.positions)
    assert len(both.positions) == 50


def test_progress_is_told_after_every_round():
    told = []
    ask_in_batches(
        Random(), X, lambda at: Y[at], 40, rng(), after_batch=lambda now: told.append(now.batches)
    )
    assert [len(rounds) for rounds in told] == list(range(1, 17))


@pytest.mark.parametrize(
    "answers", [lambda at: np.zeros(len(at) + 1), lambda at: at * 0 + 2, lambda at: at * 0 - 2]
)
def test_a_service_that_answers_wrongly_is_refused(answers):
    with pytest.raises(InvalidArgument, match="`ask` must return"):
        ask_in_batches(Random(), X, answers, 40, rng())


def test_a_strategy_cannot_change_what_was_released():
    class Scribbler(Random):
        def select(self, X_pool, queried, labels, k, rng):
            chosen = super().select(X_pool, queried, labels, k, rng)
            queried[:] = 0
            labels[:] = 0
            return chosen

    found = ask_in_batches(Scribbler(), X, lambda at: Y[at], 40, rng())
    assert np.array_equal(found.labels, Y[found.positions])
