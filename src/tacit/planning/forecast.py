"""What a mechanism will answer under a vote model: right, wrong, refused.

Every probability is a finite sum over the law of the votes and of the noise actually drawn; nothing
is simulated. Ties count half: which class they go to depends on its place in the list, and either
class may be the right one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from tacit import validation
from tacit.errors import InvalidArgument
from tacit.mechanisms import (
    ConfidentVote,
    ExponentialVote,
    GaussianVote,
    LaplaceVote,
    SparseVote,
    StableVote,
)
from tacit.mechanisms.base import VoteMechanism
from tacit.planning import many_classes
from tacit.planning.noise_tails import (
    gaussian_at_least,
    laplace_at_least,
    laplace_difference_at_least,
)
from tacit.planning.sparse_run import SparseRunForecast, expected_sparse_run
from tacit.planning.vote_model import VoteModel

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """Expected shares of all questions; together they are one.

    Parameters
    ----------
    right, wrong : float
        Released labels (for shares: of the class with the largest).
    refused : float
        Questions asked and not answered.
    unreached : float
        Questions after a run of a sparse vector has stopped.
    n_classes : int
    """

    right: float
    wrong: float
    refused: float = 0.0
    unreached: float = 0.0
    n_classes: int = 2

    @property
    def answered(self) -> float:
        """Share of the questions that get a label."""
        return self.right + self.wrong

    @property
    def correct(self) -> float:
        """Share of the released labels that are right; 0 when nothing is answered."""
        return self.right / self.answered if self.answered > 0 else 0.0

    @property
    def accuracy(self) -> float:
        """Share right of all questions when those without an answer are labelled at random.

        The common currency for mechanisms that refuse and those that do not; the papers label
        refusals at random too [LZCW21, Algorithm 3].
        """
        return self.right + (self.refused + self.unreached) / self.n_classes


_TWO_CLASSES = (
    GaussianVote,
    LaplaceVote,
    ExponentialVote,
    ConfidentVote,
    SparseVote,
    StableVote,
)
_MORE_CLASSES = (GaussianVote, LaplaceVote, ExponentialVote)


def can_forecast(kind: type[VoteMechanism], n_classes: int) -> bool:
    """Return whether the law of this mechanism's answers is worked out for ``n_classes``."""
    return issubclass(kind, _TWO_CLASSES if n_classes == 2 else _MORE_CLASSES)


def forecast(
    mechanism: VoteMechanism,
    model: VoteModel,
    *,
    n_teachers: int,
    n_questions: int | None = None,
    rough: bool = False,
) -> Forecast:
    """Return what a run of the mechanism is expected to answer.

    Parameters
    ----------
    mechanism : VoteMechanism
    model : VoteModel
        How teachers vote, for the size of their shards.
    n_teachers : int
    n_questions : int, optional
        How many are asked; only a sparse vector, which may stop on the way, needs it.
    rough : bool, default False
        A sparse vector's run is then not followed question by question: for comparing settings.

    Raises
    ------
    InvalidArgument
        For a mechanism that may refuse, with more than two classes: its law is not worked out.

    Examples
    --------
    >>> model = VoteModel.independent(0.8)
    >>> sharp = forecast(GaussianVote(sigma=1.0), model, n_teachers=100)
    >>> dull = forecast(GaussianVote(sigma=100.0), model, n_teachers=100)
    >>> round(sharp.correct, 3), round(dull.correct, 3)
    (1.0, 0.618)
    """
    validation.instance(VoteMechanism, mechanism=mechanism)
    validation.positive_integer(n_teachers=n_teachers)
    if mechanism.n_classes != model.n_classes:
        raise InvalidArgument(
            f"`model` must have {mechanism.n_classes} classes, as the mechanism has, got "
            f"{model.n_classes}."
        )
    if model.n_classes > 2:
        return _forecast_many(mechanism, model, n_teachers)
    votes = _VoteLaw(model.count_law(n_teachers), n_teachers)
    if isinstance(mechanism, SparseVote):
        planned = validation.positive_integer(n_questions=n_questions)
        return _sparse(votes.sparse_run(mechanism, planned, rough), planned)
    right, answered = votes.released(mechanism)
    return Forecast(right, max(0.0, answered - right), max(0.0, 1 - answered))


def _sparse(run: SparseRunForecast, n_questions: int) -> Forecast:
    reached = run.right + run.wrong + run.refused
    return Forecast(
        run.right / n_questions,
        run.wrong / n_questions,
        run.refused / n_questions,
        max(0.0, 1 - reached / n_questions),
    )


def _forecast_many(mechanism: Any, model: VoteModel, n_teachers: int) -> Forecast:
    match mechanism:
        case GaussianVote():
            right = many_classes.gaussian_wins(model, n_teachers, mechanism.sigma)
        case LaplaceVote():
            right = many_classes.laplace_wins(model, n_teachers, mechanism.scale)
        case ExponentialVote():
            right = many_classes.exponential_wins(model, n_teachers, mechanism.epsilon_per_answer)
        case _:
            raise InvalidArgument(
                f"`mechanism` {mechanism.name} can be forecast for two classes only; with "
                f"{model.n_classes} use GaussianVote, LaplaceVote or ExponentialVote."
            )
    return Forecast(right, 1 - right, n_classes=model.n_classes)


class _VoteLaw:
    """The law of the votes in two classes, and what each mechanism makes of it."""

    def __init__(self, law: FloatArray, n_teachers: int) -> None:
        self.law, self.n_teachers = law, n_teachers
        self.right = np.arange(n_teachers + 1)
        self.wrong = n_teachers - self.right
        self.plurality = (self.right > self.wrong) + 0.5 * (self.right == self.wrong)
        margin = np.abs(self.right - self.wrong)
        self.distance = np.maximum(0, (margin + 1) // 2 - 1)

    def released(self, mechanism: Any) -> tuple[float, float]:
        """Return the probability of a right answer, and of any answer."""
        match mechanism:
            case GaussianVote():
                return float(self.law @ self._gaussian(mechanism.sigma)), 1.0
            case LaplaceVote():
                return float(self.law @ self._laplace(mechanism.scale)), 1.0
            case ExponentialVote():
                lead = mechanism.epsilon_per_answer * (self.right - self.wrong) / 2
                return float(self.law @ special.expit(lead)), 1.0
            case ConfidentVote():
                largest = np.maximum(self.right, self.wrong)
                least = np.ceil(mechanism.threshold - largest)
                passed = self.law * gaussian_at_least(mechanism.sigma1, least)
                return float(passed @ self._gaussian(mechanism.sigma2)), float(passed.sum())
            case StableVote():
                least = mechanism.threshold - self.distance + 1
                passed = self.law * laplace_at_least(mechanism.scale, least)
                return float(passed @ self.plurality), float(passed.sum())
        raise InvalidArgument(f"`mechanism` {mechanism.name} has no forecast.")

    def sparse_run(self, mechanism: SparseVote, questions: int, rough: bool) -> SparseRunForecast:
        """Return expected numbers of answers of a whole sparse-vector run."""
        most = int(self.distance.max()) + 1
        right, wrong = np.zeros(most), np.zeros(most)
        np.add.at(right, self.distance, self.law * self.plurality)
        np.add.at(wrong, self.distance, self.law * (1 - self.plurality))
        return expected_sparse_run(mechanism, right, wrong, questions, rough=rough)

    def _gaussian(self, sigma: float) -> FloatArray:
        """P(right) for every count: noise on one count, compared with half of the teachers."""
        short = self.n_teachers / 2 - self.right
        reaches = gaussian_at_least(sigma, np.ceil(short))
        passes = gaussian_at_least(sigma, np.floor(short) + 1)
        both: FloatArray = (reaches + passes) / 2
        return both

    def _laplace(self, scale: float) -> FloatArray:
        short = self.wrong - self.right
        ties = laplace_difference_at_least(scale, short)
        passes = laplace_difference_at_least(scale, short + 1)
        both: FloatArray = (ties + passes) / 2
        return both
