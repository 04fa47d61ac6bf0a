"""Releases of something that is not a vote, on a ledger: means of one vector per teacher."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from numpy.typing import ArrayLike

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.ledger import FixedPriceRelease, Ledger
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.noise import NoiseSource, Uncopyable

Contributions = ArrayLike | Iterator[ArrayLike]


class PlannedMeans(Uncopyable):
    """Releases means under one plan, each priced and recorded before it leaves.

    Parameters
    ----------
    mechanism : ClippedMean
        Public; ``releases`` of it are planned.
    ledger, delta, noise, key
        As for ``Labeler``. A plan that does not fit the ledger, or is another than the one
        opened under ``key`` before, is refused at once; it is reserved with the first release.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.accounting.budget import Budget
    >>> from tacit.ledger import MemoryLedger
    >>> from tacit.noise import SecureNoise
    >>> mean = ClippedMean.for_budget(Budget(0.5, 1e-6), radius=1, dimension=1, n_teachers=5000)
    >>> means = PlannedMeans(
    ...     mean, MemoryLedger(Budget(1.0, 1e-5)), delta=1e-6, noise=SecureNoise(), key="example"
    ... )
    >>> first = means.release(b"mean", lambda: np.full((5000, 1), 0.25))
    >>> abs(first.share[0] - 0.25) < 0.1
    True
    >>> means.release(b"mean", lambda: np.zeros((5000, 1))).share == first.share
    True
    """

    def __init__(
        self, mechanism: ClippedMean, ledger: Ledger, *, delta: float, noise: NoiseSource, key: str
    ) -> None:
        ledger.check_noise(noise)
        self.mechanism, self._ledger, self._noise = mechanism, ledger, noise
        self._wanted, self._key = mechanism.plan(delta), key
        if ledger.find_plan(key) is None:
            ledger.check_plan(self._wanted)
        else:  # paid for already; another plan under this key is refused
            ledger.open_plan(self._wanted, key)

    @property
    def plan(self) -> Plan:
        """What may be released at most, and the guarantee for all of it."""
        plan_id = self._ledger.find_plan(self._key)
        return self._wanted if plan_id is None else self._ledger.plan(plan_id)

    def usage(self) -> dict[Event, int]:
        """Return what was released so far."""
        plan_id = self._ledger.find_plan(self._key)
        return {} if plan_id is None else self._ledger.usage(plan_id)

    def release(self, name: bytes, contributions: Callable[[], Contributions]) -> Answer:
        """Release one mean, or give it again if it was released before under this name.

        Parameters
        ----------
        name : bytes
            Public.
        contributions : function that returns an array of shape (n_teachers, dimension)
            Or an iterator over blocks of it. Called only when there is something to release, and
            before the ledger is locked. Private.
        """
        plan_id = self._ledger.find_plan(self._key)
        known = {} if plan_id is None else self._ledger.recorded(plan_id, [name])
        if name in known:
            return known[name]
        total = self.mechanism.gather(contributions())
        # Reserved only now: work that was interrupted before has cost nothing.
        plan_id = self._ledger.open_plan(self._wanted, self._key)
        release = FixedPriceRelease.per_answer(
            self.mechanism.event,
            lambda new: [self.mechanism.start(noise=self._noise).release(total)],
        )
        (answer,) = self._ledger.answer(plan_id, [name], release)
        return answer


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
    """Release a mean once, under a plan of its own (see ``PlannedMeans``)."""
    means = PlannedMeans(mechanism, ledger, delta=delta, noise=noise, key=key)
    return means.release(name, lambda: contributions)
