"""Plan before you spend: from sizes, a budget and public evidence to the run to make.

Nothing here sees private data. The numbers it takes (how many records and points there are, the
budget) are public, and the evidence is a guess or labelled public points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit import validation
from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.base import VoteMechanism, VoteRun
from tacit.planning.candidates import Candidate, ReleaseKind, compared, evaluate, source
from tacit.planning.rules import questions_for
from tacit.planning.vote_curve import VoteCurve
from tacit.planning.vote_model import VoteModel

__all__ = ["RunPlan", "plan_run"]

_SIZES, _SIZES_MANY = 14, 7
_LARGEST_ENSEMBLE, _LARGEST_ENSEMBLE_MANY = 20_000, 2_000
_USEFUL = 0.5
"""A plan works when it keeps this part of what a vote without noise would gain over guessing."""

_MOST_RECORDS = 10**9
_MOST_EPSILON = 100.0


@dataclass(frozen=True)
class RunPlan:
    """What to run, what to expect, and what else was looked at. Public.

    Parameters
    ----------
    budget : Budget
    n_records, n_points, n_classes : int
    release : ReleaseKind
    curve : VoteCurve
    baseline : float
        Accuracy that needs no teachers: of always guessing one class.
    best : Candidate or None
        The recommendation; None when there is nothing to recommend.
    others : tuple of Candidate
        The best of every other mechanism, best first.
    works : bool
        Whether the best keeps half of what a vote without noise would gain over guessing.
    missing : tuple of str
        What stands in the way, and how much more would do, in words; empty when it works.

    Notes
    -----
    Made without private data: from public sizes, the budget and public evidence.
    """

    budget: Budget
    n_records: int
    n_points: int
    n_classes: int
    release: ReleaseKind
    curve: VoteCurve
    baseline: float
    best: Candidate | None
    others: tuple[Candidate, ...]
    works: bool
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything in plain values, for JSON."""
        delta = self.budget.delta
        return {
            "private_data_used": False,
            "n_records": self.n_records,
            "n_points": self.n_points,
            "n_classes": self.n_classes,
            "budget": {"epsilon": self.budget.epsilon, "delta": delta},
            "release": self.release.value,
            "evidence": self.curve.source,
            "baseline": self.baseline,
            "works": self.works,
            "missing": list(self.missing),
            "recommended": None if self.best is None else self.best.to_dict(delta),
            "others": [other.to_dict(delta) for other in self.others],
        }

    def settings(self) -> dict[str, Any]:
        """Return the arguments of ``PATEClassifier`` that run the plan; none if there is none.

        Those of its method are ``votes()``: ``method=Votes(**plan.votes())``.

        Examples
        --------
        >>> plan = plan_run(
        ...     n_records=5000,
        ...     n_points=100,
        ...     budget=Budget(1.0, 1e-5),
        ...     curve=VoteCurve.guessed({50: 0.8}),
        ... )
        >>> sorted(plan.settings())
        ['delta', 'epsilon', 'n_teachers']
        """
        if self.best is None:
            return {}
        return {
            "epsilon": self.budget.epsilon,
            "delta": self.budget.delta,
            "n_teachers": self.best.n_teachers,
        }

    def votes(self) -> dict[str, Any]:
        """Return the arguments of ``Votes`` that run the plan; none if there is none."""
        if self.best is None:
            return {}
        return {
            "mechanism": self.best.mechanism,
            "n_questions": self.best.n_questions,
            "query": None,
        }

    def call(self, classes: Sequence[Any] | None = None) -> str:
        """Return the Python statements that run the plan."""
        if self.best is None:
            return ""
        listed = "[...]" if classes is None else repr(list(classes))
        student = "" if self.release is ReleaseKind.SHARE else "    student=LogisticRegression(),\n"
        name = type(self.best.mechanism).__name__
        return (
            "from sklearn.linear_model import LogisticRegression\n"
            f"from tacit import {', '.join(sorted([name, 'PATEClassifier', 'Votes']))}\n\n"
            "clf = PATEClassifier(\n"
            "    LogisticRegression(),\n"
            f"    epsilon={self.budget.epsilon!r},\n"
            f"    delta={self.budget.delta!r},\n"
            f"    classes={listed},\n"
            f"    n_teachers={self.best.n_teachers},\n"
            "    method=Votes(\n"
            f"        {source(self.best.mechanism)},\n"
            f"        n_questions={self.best.n_questions},\n"
            "        query=None,  # at random, all at once: what the forecast is about\n"
            "    ),\n"
            f"{student})\n"
            "clf.fit(X_private, y_private, X_public=X_pool)"
        )


def plan_run(
    *,
    n_records: int,
    n_points: int,
    budget: Budget,
    curve: VoteCurve,
    n_questions: int | None = None,
    release: ReleaseKind | str = ReleaseKind.SHARE,
    baseline: float | None = None,
    advise: bool = True,
) -> RunPlan:
    """Return the run to make, under a vote model for every shard size.

    For every mechanism, number of teachers and setting worth a look, the mechanism is made for the
    whole budget and its answers are forecast exactly under the model; the best one is recommended.

    Parameters
    ----------
    n_records : int
        Private records, or people when they are grouped. Public.
    n_points : int
        Points of the public pool.
    budget : Budget
    curve : VoteCurve
        Evidence: ``VoteCurve.guessed`` or ``measure_votes``.
    n_questions : int, optional
        How many to ask, at random; by default what ``Votes(query=None)`` would ask.
    release : {"share", "label"}
        Shares are for the default student; labels for any other, and for an oracle.
    baseline : float, optional
        Accuracy of always guessing one class; one over the number of classes by default.
    advise : bool, default True
        Whether to work out how much more would do when the plan does not work.

    Privacy
    -------
    Uses no private data. The guarantee of the plan is the price of the mechanism it holds.

    Examples
    --------
    >>> curve = VoteCurve.guessed({20: 0.75, 50: 0.8, 100: 0.85})
    >>> plan = plan_run(
    ...     n_records=20_000, n_points=400, budget=Budget(1.0, 1e-5), curve=curve
    ... )
    >>> plan.works, plan.best.name, plan.best.n_questions
    (True, 'gaussian', 400)
    >>> plan.best.plan(1e-5).guarantee.epsilon <= 1.0
    True
    """
    validation.integer(0, n_records=n_records)
    validation.integer(0, n_points=n_points)
    validation.instance(VoteCurve, curve=curve)
    validation.instance(Budget, budget=budget)
    if budget.delta == 0:
        raise InvalidArgument("`delta` must be above 0 for a noisy vote, got 0.0.")
    chosen = validation.choice(ReleaseKind, release=release)
    base = 1 / curve.n_classes if baseline is None else validation.probability(baseline=baseline)
    request = _PlanRequest(
        n_points,
        budget,
        curve,
        _number_of_questions(n_questions, n_points, curve.n_classes, chosen),
        chosen,
        max(base, 1 / curve.n_classes),
    )
    candidates = request.candidates(n_records)
    best = candidates[0] if candidates else None
    works = best is not None and request.useful(best)
    return RunPlan(
        budget,
        n_records,
        n_points,
        curve.n_classes,
        chosen,
        curve,
        request.baseline,
        best,
        tuple(candidates[1:]),
        works,
        () if works or not advise else tuple(request.missing(n_records)),
    )


def _number_of_questions(
    n_questions: int | None, n_points: int, n_classes: int, release: ReleaseKind
) -> int:
    if n_questions is not None:
        return min(validation.positive_integer(n_questions=n_questions), n_points)
    if not n_points:
        return 0
    return questions_for(n_points, shares=release is ReleaseKind.SHARE, n_classes=n_classes)


@dataclass(frozen=True)
class _PlanRequest:
    """What a plan is made for, but for the number of records."""

    n_points: int
    budget: Budget
    curve: VoteCurve
    n_questions: int
    release: ReleaseKind
    baseline: float

    def candidates(self, n_records: int) -> list[Candidate]:
        """Return the best candidate of every mechanism, the best one first."""
        sizes = self.sizes(n_records)
        if not sizes or not self.n_points:
            return []
        kinds = compared(self.release, self.curve.n_classes)
        candidates = [
            self._best(name, kind.variants, n_records, sizes) for name, kind in kinds.items()
        ]
        return sorted(candidates, key=lambda candidate: -candidate.value)

    def sizes(self, n_records: int) -> list[int]:
        """Return shard sizes that the evidence covers and that leave two teachers or more."""
        two = self.curve.n_classes == 2
        most = _LARGEST_ENSEMBLE if two else _LARGEST_ENSEMBLE_MANY
        low = max(self.curve.sizes[0], -(-n_records // most))
        high = min(self.curve.sizes[-1], n_records // 2)
        if low > high:
            # Either too few records for two teachers, or so many that shards outgrow the evidence.
            return [low] if n_records >= 2 * low else []
        steps = _SIZES if two else _SIZES_MANY
        return sorted({round(size) for size in np.geomspace(low, high, steps)})

    def _best(
        self,
        name: str,
        variants: Callable[[VoteRun], Iterable[VoteMechanism]],
        n_records: int,
        sizes: list[int],
    ) -> Candidate:
        per_size = []
        for size in sizes:
            run, model = self._run(n_records // size), self._model(size)
            per_size.append(
                max(
                    (
                        evaluate(
                            name, vote, model, run.n_teachers, size, run.n_questions, rough=True
                        )
                        for vote in variants(run)
                    ),
                    key=lambda candidate: candidate.value,
                )
            )
        best = per_size[_steady_best([candidate.value for candidate in per_size])]
        model = self._model(best.shard_size)
        return evaluate(
            name, best.mechanism, model, best.n_teachers, best.shard_size, self.n_questions
        )

    def _run(self, n_teachers: int) -> VoteRun:
        return VoteRun(
            self.budget,
            self.curve.n_classes,
            n_teachers,
            self.n_questions,
            Output(self.release.value),
            price_labels=True,
        )

    def _model(self, size: int) -> VoteModel:
        """Return how teachers vote; those of larger shards than are known are taken to be alike."""
        return self.curve.at(min(size, self.curve.sizes[-1]))

    def useful(self, candidate: Candidate) -> bool:
        """Whether enough of the gain of a vote without noise is left."""
        gain = max(model.limit for model in self.curve.models) - self.baseline
        return gain > 0 and candidate.value - self.baseline >= _USEFUL * gain

    def missing(self, n_records: int) -> list[str]:
        """Say what stands in the way, and how much more would do."""
        if not self.n_points:
            return [
                "Public points: there are none to ask about. If the features are public and only "
                'labels are private, PATEClassifier(protect="labels") needs none; otherwise use a '
                "white-box method (private gradient descent, noise on the objective)."
            ]
        if max(model.limit for model in self.curve.models) <= self.baseline:
            return [
                f"Better teachers: even a vote without noise is right no more often than guessing "
                f"one class ({self.baseline:.0%}). More records or budget do not help; "
                "try another learner or larger shards."
            ]
        sentences = [self._records_needed(n_records), self._epsilon_needed(n_records)]
        sentences.append(
            "If neither can be had, votes are the wrong tool here: a white-box method (private "
            "gradient descent, noise on the objective) uses every record for every parameter and "
            "needs fewer of them."
        )
        return sentences

    def _records_needed(self, n_records: int) -> str:
        needed = _least(lambda n: self._works(n, self.budget), max(2, n_records), _MOST_RECORDS)
        if needed is None:
            return (
                f"Records: not even {_MOST_RECORDS:,} would do at epsilon "
                f"{self.budget.epsilon:g} with {self.n_questions} questions."
            )
        return (
            f"Records: there are {n_records:,}; about {_rounded(needed):,} would do at epsilon "
            f"{self.budget.epsilon:g} with {self.n_questions} questions."
        )

    def _epsilon_needed(self, n_records: int) -> str:
        def works(step: int) -> bool:
            return self._works(n_records, Budget(_epsilon(step), self.budget.delta))

        first = math.ceil(math.log(self.budget.epsilon) / math.log(1.1))
        last = math.floor(math.log(_MOST_EPSILON) / math.log(1.1))
        step = next((s for s in range(first, last + 1, 4) if works(s)), None)
        if step is None:
            return (
                f"Budget: no epsilon up to {_MOST_EPSILON:g} would do with {n_records:,} records."
            )
        return (
            f"Budget: with {n_records:,} records, epsilon of about {_epsilon(step):.2g} would do."
        )

    def _works(self, n_records: int, budget: Budget) -> bool:
        """Whether Gaussian noise would do, without the slower price of the released bit."""
        request = replace(self, budget=budget)
        sizes = request.sizes(n_records)
        if not sizes:
            return False
        best = request._best("gaussian", _gaussian_counts, n_records, sizes)
        return request.useful(best)


def _gaussian_counts(run: VoteRun) -> tuple[VoteMechanism]:
    return (GaussianVote.for_run(replace(run, price_labels=False)),)


def _epsilon(step: int) -> float:
    return float(1.1**step)


def _least(works: Callable[[int], bool], start: int, most: int) -> int | None:
    """Return the least number, within two per cent, from which it works; None above ``most``."""
    low, high = start, start
    while not works(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        if works(middle):
            high = middle
        else:
            low = middle
    return high


def _rounded(number: int) -> int:
    """Return the number with two digits, rounded up."""
    step: int = 10 ** max(0, len(str(number)) - 2)
    return math.ceil(number / step) * step


def _steady_best(values: Sequence[float]) -> int:
    """Return the place of the largest value, averaged with its neighbours.

    Measured curves are jagged; the top of a jag is luck.
    """
    padded = np.pad(np.asarray(values), 2, mode="edge")
    return int(np.argmax(np.convolve(padded, [1, 2, 3, 2, 1], "valid")))
