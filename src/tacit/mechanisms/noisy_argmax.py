"""The class with the largest count after noise, or the noisy counts themselves.

Proofs: ``docs/proofs/gaussian_vote.md`` and ``docs/proofs/laplace_vote.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit import validation
from tacit.accounting.answer import Answer, Output
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import Calibration, gaussian_sigma, laplace_scale
from tacit.accounting.events import Event, GaussianCounts, GaussianLabel, LaplaceCounts
from tacit.errors import InvalidArgument
from tacit.mechanisms.base import PaidPerAnswer, VoteMechanism, VoteRun, label_answers
from tacit.mechanisms.counts import IntArray, VoteCounts
from tacit.noise import NoiseSource, checked_scale

_WIDEST_BIT = 1000.0
"""Noise from which on the price of the released bit takes too long to find for a plan."""


def gaussian_moves(n_classes: int) -> int:
    """Return how many noisy counts a moved vote changes: two classes need one count only."""
    return 1 if n_classes == 2 else 2


def gaussian_counts(counts: VoteCounts, sigma: float, noise: NoiseSource) -> IntArray:
    """Return the noisy count of every class; in two classes the class-1 count fixes the other."""
    votes = counts.private_array()
    if counts.n_classes == 2:
        ones = votes[:, 1] + noise.gaussian(sigma, len(votes))
        return np.column_stack([counts.n_teachers - ones, ones])
    return votes + noise.gaussian(sigma, votes.size).reshape(votes.shape)


def winners(noisy: IntArray) -> IntArray:
    """Return the class of the largest noisy count in every row.

    Ties go to the lowest class, except in two classes, where n1 >= K/2 means class 1
    [LZCW21, Algorithm 1]; ``Answer.label`` reads released counts in the same way.
    """
    if noisy.shape[1] == 2:
        return (noisy[:, 1] >= noisy[:, 0]).astype(np.int64)
    largest: IntArray = noisy.argmax(axis=1).astype(np.int64)
    return largest


class _NoisyCountsRun(PaidPerAnswer):
    """Adds noise to every count of a batch in one draw, then returns what the output allows."""

    def __init__(
        self,
        mechanism: GaussianVote | LaplaceVote,
        noise: NoiseSource,
        add_noise: Callable[[VoteCounts], IntArray],
    ) -> None:
        self._event = mechanism.planned_events()[0][0]
        super().__init__(mechanism.answers, {self._event: 1})
        self._mechanism, self._noise, self._add_noise = mechanism, noise, add_noise

    def release(self, counts: VoteCounts) -> list[Answer]:
        self._mechanism._check(counts)
        self._take(len(counts))
        noisy = self._add_noise(counts)
        if self._mechanism.output is Output.LABEL:
            return label_answers(winners(noisy), (self._event,), secure=self._noise.secure)
        return self._shares(noisy, 1 / counts.n_teachers)

    def _shares(self, noisy: IntArray, unit: float) -> list[Answer]:
        sigma, secure = self._mechanism.deviation, self._noise.secure
        return [
            Answer(Output.SHARE, tuple(row), unit, sigma, (self._event,), secure)
            for row in noisy.tolist()
        ]


def _vote_output(output: Output | str) -> Output:
    chosen = validation.choice(Output, output=output)
    if chosen not in (Output.LABEL, Output.SHARE):
        raise InvalidArgument(f"`output` must be 'label' or 'share', got {chosen.value!r}.")
    return chosen


@dataclass(frozen=True)
class GaussianVote(VoteMechanism):
    """Add discrete Gaussian noise to the votes and release the winner, or the noisy counts.

    Two classes: noise on the class-1 count alone, and class 1 iff ``n1 + Z >= K/2``
    [LZCW21, Algorithm 1]. More classes: noise on every count, and the largest.

    Parameters
    ----------
    sigma : float
        Scale of the noise on each count; its standard deviation is at most this.
    n_classes : int, default 2
    answers : int, default 1
        How many questions a run may answer.
    output : {"label", "share"}
        The winner alone, or the noisy counts: the same price, unless the calibration is "label".
    calibration : {"exact", "zcdp", "label"}
        How ``sigma`` was chosen. "label" needs two classes and label output, and prices the
        released bit rather than the count behind it.

    Privacy
    -------
    Neighbours: one vote of every question moves. One count moves by 1 (two classes), or two
    counts by 1 each, an L2 distance of sqrt(2). Event, per answer: ``GaussianCounts(sigma,
    moves)``, zCDP ``moves / (2 sigma^2)``; with calibration "label", ``GaussianLabel(sigma)``.
    Proof: ``docs/proofs/gaussian_vote.md``.

    References
    ----------
    [LZCW21] Algorithm 1, Theorem 5; [CKS20]. Departure: integer noise.

    Examples
    --------
    >>> vote = GaussianVote(sigma=20.0, answers=49)
    >>> vote.planned_events()
    ((GaussianCounts(sigma=20.0, moves=1), 49),)
    """

    name: ClassVar[str] = "GaussianVote"
    can_share: ClassVar[bool] = True
    prices_alike: ClassVar[bool] = True
    sigma: float
    n_classes: int = 2
    answers: int = 1
    output: Output = Output.LABEL
    calibration: Calibration = Calibration.EXACT

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", checked_scale(sigma=self.sigma))
        validation.integer(2, n_classes=self.n_classes)
        validation.positive_integer(answers=self.answers)
        object.__setattr__(self, "output", _vote_output(self.output))
        calibration = validation.choice(Calibration, calibration=self.calibration)
        object.__setattr__(self, "calibration", calibration)
        if calibration is Calibration.LABEL and (self.n_classes, self.output) != (2, Output.LABEL):
            raise InvalidArgument(
                "`calibration` 'label' is proven for two classes and label output only; "
                "use 'exact' here."
            )

    @classmethod
    def for_run(cls, run: VoteRun) -> GaussianVote:
        vote = cls.for_budget(
            run.budget, answers=run.n_questions, n_classes=run.n_classes, output=run.output
        )
        if run.output is Output.SHARE or run.n_classes > 2 or not run.price_labels:
            return vote
        # A released bit costs about 2/pi of the count behind it; at a large delta the exact price
        # of the count is the better proof.
        bit = cls.for_budget(run.budget, answers=run.n_questions, calibration=Calibration.LABEL)
        return min(vote, bit, key=lambda one: one.sigma)

    @classmethod
    def variants(cls, run: VoteRun) -> tuple[GaussianVote, ...]:
        counts = cls.for_run(replace(run, price_labels=False))
        return (counts,) if counts.sigma >= _WIDEST_BIT else (cls.for_run(run),)

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        answers: int,
        n_classes: int = 2,
        output: Output | str = Output.LABEL,
        calibration: Calibration | str = Calibration.EXACT,
    ) -> GaussianVote:
        """Return the vote with the least noise that keeps ``answers`` answers within ``budget``.

        Examples
        --------
        >>> round(GaussianVote.for_budget(Budget(1.0, 1e-5), answers=300).sigma, 3)
        64.616
        """
        # Made first with any noise: bad settings are refused before the search begins.
        method = validation.choice(Calibration, calibration=calibration)
        draft = cls(1.0, n_classes, answers, _vote_output(output), method)
        moves = gaussian_moves(n_classes)
        sigma = gaussian_sigma(budget, answers=answers, moves=moves, method=method)
        return replace(draft, sigma=sigma)

    @property
    def deviation(self) -> float:
        """``sigma`` for released counts (the discrete law's own is never larger), else 0."""
        return self.sigma if self.output is Output.SHARE else 0.0

    @property
    def capacity(self) -> int:
        return self.answers

    def describe_noise(self) -> str:
        return f"sigma {self.sigma:.4g}"

    def with_averaged_noise(self, n_answers: float) -> GaussianVote:
        return replace(self, sigma=self.sigma / n_answers**0.5)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        event: Event = GaussianCounts(self.sigma, gaussian_moves(self.n_classes))
        if self.calibration is Calibration.LABEL:
            event = GaussianLabel(self.sigma)
        return ((event, self.answers),)

    def start(self, *, noise: NoiseSource) -> PaidPerAnswer:
        return _NoisyCountsRun(self, noise, lambda c: gaussian_counts(c, self.sigma, noise))


@dataclass(frozen=True)
class LaplaceVote(VoteMechanism):
    """Add discrete Laplace noise to every count and release the winner, or the noisy counts.

    Parameters
    ----------
    scale : float
        Scale of the noise: ``P(z)`` proportional to ``exp(-|z| / scale)``.
    n_classes : int, default 2
    answers : int, default 1
    output : {"label", "share"}

    Privacy
    -------
    Neighbours: one vote of every question moves, so two counts move by 1 (L1 distance 2).
    Event, per answer: ``LaplaceCounts(scale, moves=2)``, pure ``2 / scale``. Proof:
    ``docs/proofs/laplace_vote.md``.

    References
    ----------
    Papernot et al. (2017), the noisy maximum. Departure: integer noise.

    Examples
    --------
    >>> LaplaceVote(scale=20.0, n_classes=10).planned_events()
    ((LaplaceCounts(scale=20.0, moves=2), 1),)
    """

    name: ClassVar[str] = "LaplaceVote"
    can_share: ClassVar[bool] = True
    prices_alike: ClassVar[bool] = True
    scale: float
    n_classes: int = 2
    answers: int = 1
    output: Output = Output.LABEL

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", checked_scale(scale=self.scale))
        validation.integer(2, n_classes=self.n_classes)
        validation.positive_integer(answers=self.answers)
        object.__setattr__(self, "output", _vote_output(self.output))

    @classmethod
    def for_run(cls, run: VoteRun) -> LaplaceVote:
        return cls.for_budget(
            run.budget, answers=run.n_questions, n_classes=run.n_classes, output=run.output
        )

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        answers: int,
        n_classes: int = 2,
        output: Output | str = Output.LABEL,
    ) -> LaplaceVote:
        """Return the vote with the least noise that keeps ``answers`` answers within ``budget``."""
        draft = cls(1.0, n_classes, answers, _vote_output(output))
        return replace(draft, scale=laplace_scale(budget, answers=answers, moves=2))

    @property
    def deviation(self) -> float:
        """Standard deviation of the discrete Laplace law for released counts, else 0."""
        if self.output is Output.LABEL:
            return 0.0
        # Variance 2 q / (1 - q)^2 with q = exp(-1/scale), written so that it does not cancel.
        rate = 1 / self.scale
        return math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)

    @property
    def capacity(self) -> int:
        return self.answers

    def describe_noise(self) -> str:
        return f"scale {self.scale:.4g}"

    def with_averaged_noise(self, n_answers: float) -> LaplaceVote:
        return replace(self, scale=self.scale / n_answers**0.5)

    def planned_events(self) -> tuple[tuple[Event, int], ...]:
        return ((LaplaceCounts(self.scale, moves=2), self.answers),)

    def start(self, *, noise: NoiseSource) -> PaidPerAnswer:
        return _NoisyCountsRun(self, noise, lambda c: self._noisy(c, noise))

    def _noisy(self, counts: VoteCounts, noise: NoiseSource) -> IntArray:
        votes = counts.private_array()
        return votes + noise.laplace(self.scale, votes.size).reshape(votes.shape)
