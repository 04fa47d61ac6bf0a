"""One release of something that is not a vote, on a ledger, under a plan of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike

from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.privacy.answer import Answer
from tacit.privacy.events import Event
from tacit.privacy.ledger.protocol import Ledger
from tacit.privacy.noise import NoiseSource


def release_mean(
    mechanism: ClippedMean,
    contributions: ArrayLike,
    ledger: Ledger,
    *,
    delta: float,
    noise: NoiseSource,
    key: str,
    name: bytes,
) -> Answer:
    """Release a mean once, priced and recorded before it leaves.

    Parameters
    ----------
    mechanism : ClippedMean
        Public.
    contributions : array of shape (n_teachers, dimension)
        Private.
    ledger, delta, noise, key
        As for ``Labeler``: the plan is opened under ``key``, or found again.
    name : bytes
        Public name of the number. Released before under this plan, it comes back as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.privacy.budget import Budget
    >>> from tacit.privacy.ledger import MemoryLedger
    >>> from tacit.privacy.noise import SecureNoise
    >>> mean = ClippedMean.for_budget(Budget(0.5, 1e-6), radius=1, dimension=1, n_teachers=5000)
    >>> ledger = MemoryLedger(Budget(1.0, 1e-5))
    >>> given = dict(delta=1e-6, noise=SecureNoise(), key="documentation", name=b"mean")
    >>> first = release_mean(mean, np.full((5000, 1), 0.25), ledger, **given)
    >>> abs(first.share[0] - 0.25) < 0.1
    True
    >>> release_mean(mean, np.zeros((5000, 1)), ledger, **given).share == first.share
    True
    """
    plan_id = ledger.open_plan(mechanism.plan(delta), key)
    (answer,) = ledger.answer(plan_id, [name], _Once(mechanism, contributions, noise))
    return answer


class _Once:
    """Draws one mean."""

    def __init__(
        self, mechanism: ClippedMean, contributions: ArrayLike, noise: NoiseSource
    ) -> None:
        self._mechanism, self._contributions, self._noise = mechanism, contributions, noise

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return {self._mechanism.event: questions}

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return [self._mechanism.release(self._contributions, noise=self._noise)]

    def abandon(self) -> None:
        """Nothing is kept between releases."""
