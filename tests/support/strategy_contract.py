"""What every strategy must do, a user's own included.

``check_strategy(strategy)`` runs all checks; ``STRATEGY_CHECKS`` lists them, so that a test can run
and name each. Instead of a strategy, a callable ``make(X_pool, n_classes)`` can be given: for those
that are made for one pool.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InvalidArgument
from tacit.students.active import Strategy, ask_in_batches, check_classes, check_selection
from tacit.students.passive import UNLABELLED

Make = Callable[[Any, int], Strategy]

N_POINTS = 120
ARGUMENTS = ("X_pool", "queried", "labels", "k", "rng")


class Situation:
    """A pool with known classes, and what has been asked about it so far."""

    def __init__(self, n_classes: int, n_asked: int, seed: int = 0) -> None:
        rng = np.random.default_rng([seed, n_classes])
        centres = 2 * np.eye(n_classes, 5)
        self.truth = rng.integers(n_classes, size=N_POINTS)
        self.X_pool = centres[self.truth] + rng.normal(size=(N_POINTS, 5))
        self.asked = rng.permutation(N_POINTS)[:n_asked]
        self.labels = self.truth[self.asked].astype(np.int64)
        self.n_classes = n_classes

    def select(self, strategy: Strategy, k: int, seed: int = 0) -> NDArray[np.intp]:
        """Return a checked selection."""
        rng = np.random.default_rng(seed)
        chosen = strategy.select(self.X_pool, self.asked.copy(), self.labels.copy(), k, rng)
        return check_selection(chosen, N_POINTS, self.asked, k)


def check_strategy(strategy: Strategy | Make) -> None:
    """Put a strategy through every check, with two classes and with four.

    Raises
    ------
    AssertionError or InvalidArgument
        For the first check that fails.

    Examples
    --------
    >>> from tacit.students.active import Margin
    >>> check_strategy(Margin())
    """
    for check in STRATEGY_CHECKS.values():
        check(_maker(strategy))


def _maker(strategy: Strategy | Make) -> Make:
    if isinstance(strategy, Strategy):
        found = strategy
        return lambda X_pool, n_classes: found
    return strategy


def _situations(make: Make, n_asked: int) -> list[tuple[Situation, Strategy]]:
    """Two classes always; four where the strategy says it can."""
    found = []
    for n_classes in (2, 4):
        situation = Situation(n_classes, n_asked)
        strategy = make(situation.X_pool, n_classes)
        most = getattr(strategy, "max_classes", None)
        if most is None or n_classes <= most:
            found.append((situation, strategy))
    return found


# ---- the checks -----------------------------------------------------------------------------


def check_arguments(make: Make) -> None:
    """``select`` takes what is public and nothing else: there is no place for votes."""
    for _, strategy in _situations(make, 0):
        taken = tuple(inspect.signature(strategy.select).parameters)
        assert taken == ARGUMENTS, f"select must take {ARGUMENTS}, takes {taken}"


def check_choices(make: Make) -> None:
    """Choices are distinct, new and at most k: at the start, on the way, near the end."""
    for n_asked in (0, 1, 12, 60, N_POINTS - 3):
        for situation, strategy in _situations(make, n_asked):
            for k in (1, 7, N_POINTS):
                situation.select(strategy, k)


def check_nothing_left(make: Make) -> None:
    """When everything was asked, nothing is chosen."""
    for situation, strategy in _situations(make, N_POINTS):
        assert len(situation.select(strategy, 5)) == 0, "chose from an empty rest"


def check_refusals(make: Make) -> None:
    """Refused answers, all of them even, and a single class are no reason to fail."""
    for situation, strategy in _situations(make, 40):
        situation.labels[::3] = UNLABELLED
        situation.select(strategy, 5)
        situation.labels[:] = UNLABELLED
        situation.select(strategy, 5)
        situation.labels[:] = 1
        situation.select(strategy, 5)


def check_arguments_unchanged(make: Make) -> None:
    """The pool and what was released stay as they were."""
    for situation, strategy in _situations(make, 40):
        given = (situation.X_pool.copy(), situation.asked.copy(), situation.labels.copy())
        strategy.select(*given, 5, np.random.default_rng(0))
        kept = (situation.X_pool, situation.asked, situation.labels)
        for before, after in zip(kept, given, strict=True):
            assert np.array_equal(before, after), "select changed its arguments"


def check_repeatable(make: Make) -> None:
    """The same arguments give the same choice, whatever happened in between or elsewhere."""
    for situation, strategy in _situations(make, 40):
        first = situation.select(strategy, 6, seed=3)
        for n_asked in (0, 80):
            Situation(situation.n_classes, n_asked).select(strategy, 9)
        ask_in_batches(
            strategy,
            situation.X_pool,
            lambda at, truth=situation.truth: truth[at],  # type: ignore[misc]
            30,
            np.random.default_rng(1),
            n_classes=situation.n_classes,
        )
        again = situation.select(strategy, 6, seed=3)
        copied = situation.select(copy.deepcopy(strategy), 6, seed=3)
        assert np.array_equal(first, again), "a run depends on the runs before it"
        assert np.array_equal(first, copied), "a copy chooses differently"


def check_no_global_randomness(make: Make) -> None:
    """The generator given is the only source of randomness."""
    for situation, strategy in _situations(make, 40):
        before = _global_state()
        situation.select(strategy, 5)
        assert before == _global_state(), "select drew from numpy's global generator"


def _global_state() -> str:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - looked at, never drawn from
    return f"{state['state']['pos']} {state['state']['key'].tolist()}"


def check_runs(make: Make) -> None:
    """A whole run keeps to its budget and ends, with refusals on the way."""
    for situation, strategy in _situations(make, 0):
        answers = situation.truth.copy()
        answers[::5] = UNLABELLED
        found = ask_in_batches(
            strategy,
            situation.X_pool,
            lambda at, answers=answers: answers[at],  # type: ignore[misc]
            50,
            np.random.default_rng(2),
            n_batches=6,
            n_classes=situation.n_classes,
        )
        assert 0 < len(found.positions) <= 50, "a run asked nothing, or more than it may"
        assert len(np.unique(found.positions)) == len(found.positions), "asked a point twice"


def check_class_limit(make: Make) -> None:
    """A strategy for few classes says so before anything is asked, and when it sees too many."""
    situation = Situation(4, 40)
    strategy = make(situation.X_pool, 4)
    if getattr(strategy, "max_classes", None) is None:
        return
    for refuse in (
        lambda: check_classes(strategy, strategy.max_classes + 1),  # type: ignore[attr-defined]
        lambda: situation.select(strategy, 5),
    ):
        try:
            refuse()
        except InvalidArgument:
            continue
        raise AssertionError("more classes than max_classes are not refused")


STRATEGY_CHECKS: dict[str, Callable[[Make], None]] = {
    "arguments": check_arguments,
    "choices": check_choices,
    "nothing left": check_nothing_left,
    "refusals": check_refusals,
    "arguments unchanged": check_arguments_unchanged,
    "repeatable": check_repeatable,
    "no global randomness": check_no_global_randomness,
    "runs": check_runs,
    "class limit": check_class_limit,
}
"""The checks, by name."""
