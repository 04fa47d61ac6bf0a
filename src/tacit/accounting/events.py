"""What was released, described once and priced in several currencies.

An event names the mechanism that ran and its public settings; it holds nothing private. Every
price an accountant may use is a property of the event, proved on the mechanism's page in
``docs/proofs``. How many times an event happened is never part of it: accountants multiply, in one
place. Two rules keep old ledgers true: the meaning of an event never changes, and an accountant
that has no proven price for an event raises ``UnsupportedEvent`` instead of guessing.

All prices are for data sets in which *one vote moves* (see ``Neighbouring``); those of releases
from hypotheses are for ``replace``, one record.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit import validation
from tacit.accounting import amplification, prediction
from tacit.accounting.budget import Budget
from tacit.errors import UnsupportedEvent

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GaussianShift:
    """Discrete Gaussian noise of scale ``sigma`` on an integer that moves by one."""

    sigma: float


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """The worst of all ``epsilon``-pure mechanisms [KOV15]."""

    epsilon: float


LossFactor = GaussianShift | RandomisedResponse


class Event(ABC):
    """One kind of release. Subclasses are frozen data classes of public settings."""

    kind: ClassVar[str]

    @property
    def delta(self) -> float:
        """Probability of failure, added outside every conversion; zero for most events."""
        return 0.0

    @property
    def pure_epsilon(self) -> float:
        """Pure epsilon (apart from ``delta``); infinite where there is none."""
        return math.inf

    @property
    @abstractmethod
    def rho(self) -> float:
        """Zero-concentrated price (apart from ``delta``): Renyi cost at most ``alpha * rho``."""

    @property
    def pure_parts(self) -> tuple[float, int]:
        """A pure epsilon and how many releases of it this event is worth; infinite where none."""
        return self.pure_epsilon, 1

    def renyi(self, orders: FloatArray) -> FloatArray:
        """Renyi cost at each order above 1 (apart from ``delta``)."""
        cost: FloatArray = np.asarray(orders, dtype=np.float64) * self.rho
        return cost

    def loss_factors(self) -> tuple[LossFactor, ...]:
        """Independent factors of a dominating pair, for loss-distribution accounting."""
        raise UnsupportedEvent(
            f"No loss distribution is known for {self.kind!r} events; "
            "use Renyi or zCDP accounting instead."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a plain description that ``event_from_dict`` reads back."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


def pure_renyi(epsilon: float, orders: FloatArray) -> FloatArray:
    """Return the Renyi cost of randomised response: the largest of any pure mechanism.

    With ``p = e^eps/(1 + e^eps)`` and ``q = 1 - p`` the divergence of order a is
    ``log(p^a q^(1-a) + q^a p^(1-a)) / (a - 1)``, evaluated here in logarithms.
    """
    orders = np.asarray(orders, dtype=np.float64)
    log_p = -np.log1p(math.exp(-epsilon))
    log_q = log_p - epsilon
    terms = np.logaddexp(
        orders * log_p + (1 - orders) * log_q, orders * log_q + (1 - orders) * log_p
    )
    cost: FloatArray = np.minimum(np.maximum(terms / (orders - 1), 0.0), epsilon)
    return cost


@dataclass(frozen=True, slots=True)
class GaussianCounts(Event):
    """Discrete Gaussian noise on vote counts, ``moves`` of which move by one.

    One count (binary votes, the largest count): ``moves=1``. A histogram: ``moves=2``.
    """

    kind: ClassVar[str] = "gaussian-counts"
    sigma: float
    moves: int = 1

    def __post_init__(self) -> None:
        validation.positive(sigma=self.sigma)
        validation.positive_integer(moves=self.moves)

    @property
    def rho(self) -> float:
        """``moves / (2 sigma^2)`` [CKS20]."""
        return self.moves / (2 * self.sigma**2)

    def loss_factors(self) -> tuple[LossFactor, ...]:
        """One shifted discrete Gaussian for each count that moves."""
        return (GaussianShift(self.sigma),) * self.moves


@dataclass(frozen=True, slots=True)
class GaussianLabel(Event):
    """Only whether a noisy binary count reaches the middle was released, not the count.

    The count itself would cost ``1/(2 sigma^2)`` zCDP; the single bit costs less at every order.
    """

    kind: ClassVar[str] = "gaussian-label"
    sigma: float

    def __post_init__(self) -> None:
        validation.positive(sigma=self.sigma)

    @property
    def rho(self) -> float:
        """The price of the count, which bounds that of its sign (post-processing)."""
        return 1 / (2 * self.sigma**2)

    def renyi(self, orders: FloatArray) -> FloatArray:
        """Renyi divergence of the bit, maximised over where the votes stand."""
        from tacit.accounting.gaussian_label import label_renyi

        return label_renyi(self.sigma, np.asarray(orders, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class GaussianVector(Event):
    """Discrete Gaussian noise on an integer vector that moves by at most ``sensitivity`` in L2."""

    kind: ClassVar[str] = "gaussian-vector"
    sigma: float
    sensitivity: float

    def __post_init__(self) -> None:
        validation.positive(sigma=self.sigma)
        validation.positive(sensitivity=self.sensitivity)

    @property
    def rho(self) -> float:
        """``sensitivity^2 / (2 sigma^2)`` [CKS20]."""
        return self.sensitivity**2 / (2 * self.sigma**2)


@dataclass(frozen=True, slots=True)
class GaussianCoordinates(GaussianVector):
    """The same on so many coordinates: knowing how many gives a closer price.

    Discrete Gaussian noise is nearly rounded continuous noise, whose price is known exactly; how
    nearly depends on the number of coordinates (``docs/proofs/gaussian_accounting.md``).
    """

    kind: ClassVar[str] = "gaussian-coordinates"
    dimension: int

    def __post_init__(self) -> None:
        # Not super(): a class with slots is made anew, and zero-argument super misses it.
        GaussianVector.__post_init__(self)
        validation.positive_integer(dimension=self.dimension)


@dataclass(frozen=True, slots=True)
class _PureEvent(Event):
    """Shared prices of events with a pure epsilon."""

    @property
    def rho(self) -> float:
        """``epsilon^2 / 2`` [BS16, Proposition 3.3]."""
        return self.pure_epsilon**2 / 2

    def renyi(self, orders: FloatArray) -> FloatArray:
        """The smaller of the zCDP line and the pure mechanism's exact worst case."""
        orders = np.asarray(orders, dtype=np.float64)
        cost: FloatArray = np.minimum(orders * self.rho, pure_renyi(self.pure_epsilon, orders))
        return cost

    def loss_factors(self) -> tuple[LossFactor, ...]:
        """Randomised response dominates every pure mechanism."""
        return (RandomisedResponse(self.pure_epsilon),)


@dataclass(frozen=True, slots=True)
class LaplaceCounts(_PureEvent):
    """Discrete Laplace noise on vote counts, ``moves`` of which move by one."""

    kind: ClassVar[str] = "laplace-counts"
    scale: float
    moves: int = 2

    def __post_init__(self) -> None:
        validation.positive(scale=self.scale)
        validation.positive_integer(moves=self.moves)

    @property
    def pure_epsilon(self) -> float:
        """``moves / scale``."""
        return self.moves / self.scale

    @property
    def pure_parts(self) -> tuple[float, int]:
        """Each count that moves by one is worth exactly one release of ``1 / scale``.

        ``|x| - |x - 1|`` is 1 or -1 for every integer x, so the loss of a unit shift takes two
        values only: it *is* randomised response.
        """
        return 1 / self.scale, self.moves

    def loss_factors(self) -> tuple[LossFactor, ...]:
        """One randomised response for each count that moves."""
        return (RandomisedResponse(1 / self.scale),) * self.moves


@dataclass(frozen=True, slots=True)
class ExponentialSelection(_PureEvent):
    """A candidate drawn with weight ``exp(epsilon * score / 2)``, scores of sensitivity 1."""

    kind: ClassVar[str] = "exponential-selection"
    epsilon: float

    def __post_init__(self) -> None:
        validation.positive(epsilon=self.epsilon)

    @property
    def pure_epsilon(self) -> float:
        """The mechanism's parameter."""
        return self.epsilon

    @property
    def rho(self) -> float:
        """``epsilon^2 / 8``: its loss stays in a range of width epsilon [CR21]."""
        return self.epsilon**2 / 8


@dataclass(frozen=True, slots=True)
class ApproximateRelease(_PureEvent):
    """Any release known only to be (epsilon, delta): pure but for an event of probability delta."""

    kind: ClassVar[str] = "approximate-release"
    epsilon: float
    failure: float

    def __post_init__(self) -> None:
        validation.positive(epsilon=self.epsilon)
        validation.fraction(failure=self.failure)

    @property
    def delta(self) -> float:
        """The probability of the bad event."""
        return self.failure

    @property
    def pure_epsilon(self) -> float:
        """Pure price outside the bad event."""
        return self.epsilon


@dataclass(frozen=True, slots=True)
class SparseInstance(_PureEvent):
    """One sparse-vector instance: from a threshold draw to its refusal.

    Pure ``2/scale``, and ``failure``: the probability that it answers a question whose majority
    differs between neighbours (see ``docs/proofs/sparse_vote.md``). Spent when the threshold is
    drawn, whatever follows.
    """

    kind: ClassVar[str] = "sparse-instance"
    scale: float
    failure: float

    def __post_init__(self) -> None:
        validation.positive(scale=self.scale)
        validation.fraction(failure=self.failure)

    @property
    def delta(self) -> float:
        """Probability of answering an unstable question."""
        return self.failure

    @property
    def pure_epsilon(self) -> float:
        """``2 / scale``."""
        return 2 / self.scale


@dataclass(frozen=True, slots=True)
class PrivatePrediction(_PureEvent):
    """A label by a hypothesis drawn for one question, turned around with chance ``flip``.

    Candidates from ``subset`` of ``records`` records, the exponential mechanism over all of them
    with ``selection_epsilon`` (see ``docs/proofs/private_prediction.md``, claims 1 and 2).
    """

    kind: ClassVar[str] = "private-prediction"
    records: int
    subset: int
    selection_epsilon: float
    flip: float

    def __post_init__(self) -> None:
        validation.positive(pure_epsilon=self.pure_epsilon)

    @property
    def pure_epsilon(self) -> float:
        """``ln(1 + (1 - 2 flip) s / flip)`` with s the stability before the flip."""
        stability = prediction.prediction_stability(
            self.selection_epsilon, subset=self.subset, records=self.records
        )
        return prediction.flipped_epsilon(self.flip, delta=stability)


@dataclass(frozen=True, slots=True)
class AgnosticPrediction(_PureEvent):
    """A vote of teachers on records relabelled for one question, turned around by chance.

    Settings as for ``tacit.accounting.prediction.agnostic_prediction``. ``flip`` 0 keeps the label,
    and then the release has a delta.
    """

    kind: ClassVar[str] = "agnostic-prediction"
    records: int
    subset: int
    loss_rate: float
    vote_epsilon: float
    teachers: int
    eta: float
    net_failure: float
    flip: float = 0.0

    def __post_init__(self) -> None:
        validation.fraction(flip=self.flip)
        validation.positive(pure_epsilon=self.pure_epsilon)

    @property
    def _unflipped(self) -> Budget:
        return prediction.agnostic_prediction(
            loss_rate=self.loss_rate,
            vote_epsilon=self.vote_epsilon,
            teachers=self.teachers,
            subset=self.subset,
            records=self.records,
            eta=self.eta,
            failure=self.net_failure,
        )

    @property
    def delta(self) -> float:
        """Chance that the subset is no net, unless a flip hides it."""
        return 0.0 if self.flip else self._unflipped.delta

    @property
    def pure_epsilon(self) -> float:
        """Pure price; outside the bad event when nothing is flipped."""
        before = self._unflipped
        if not self.flip:
            return before.epsilon
        return prediction.flipped_epsilon(self.flip, epsilon=before.epsilon, delta=before.delta)


@dataclass(frozen=True, slots=True)
class RelabelledRun(_PureEvent):
    """Everything that is ever released from one relabelling of a random subset of the records.

    A mechanism that is (``base_epsilon``, ``base_failure``) runs on ``subset`` of ``records``
    records, relabelled by a hypothesis selected with ``selection_epsilon``; ``resampled`` says
    whether they were drawn again with replacement before (``docs/proofs/relabelling.md``). Spent
    when the subset is drawn, whatever follows.
    """

    kind: ClassVar[str] = "relabelled-run"
    records: int
    subset: int
    selection_epsilon: float
    base_epsilon: float
    base_failure: float
    resampled: bool = False

    def __post_init__(self) -> None:
        validation.positive(pure_epsilon=self.pure_epsilon)

    @property
    def _whole(self) -> Budget:
        base = Budget(self.base_epsilon, self.base_failure)
        if self.resampled:
            base = amplification.resampled(base, records=self.subset)
        base = amplification.relabelled(base, selection_epsilon=self.selection_epsilon)
        return amplification.subsampled(base, subset=self.subset, records=self.records)

    @property
    def delta(self) -> float:
        """``(subset / records) * base_failure``; more when resampled."""
        return self._whole.delta

    @property
    def pure_epsilon(self) -> float:
        """``ln(1 + (subset/records)((1 + e^{e0/2})^2 e^{base_epsilon} - 1))``."""
        return self._whole.epsilon


EVENT_KINDS: Mapping[str, type[Event]] = {
    event.kind: event
    for event in (
        GaussianCounts,
        GaussianLabel,
        GaussianVector,
        GaussianCoordinates,
        LaplaceCounts,
        ExponentialSelection,
        ApproximateRelease,
        SparseInstance,
        PrivatePrediction,
        AgnosticPrediction,
        RelabelledRun,
    )
}


def event_from_dict(description: Mapping[str, Any]) -> Event:
    """Return the event that ``Event.to_dict`` described.

    Raises
    ------
    UnsupportedEvent
        When the kind is not known to this version: its price would be a guess.
    """
    settings = dict(description)
    kind = settings.pop("kind", None)
    event = EVENT_KINDS.get(kind) if isinstance(kind, str) else None
    if event is None:
        raise UnsupportedEvent(f"Unknown event kind {kind!r}; it cannot be priced.")
    try:
        return event(**settings)
    except TypeError:
        raise UnsupportedEvent(
            f"Event {kind!r} has settings that this version does not support."
        ) from None
