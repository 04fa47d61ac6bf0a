"""An open run of a classifier whose student chooses the questions. Private: it holds the votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from tqdm import tqdm

from tacit.data.pool import PublicPool, take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.estimators.pipeline import OpenPool, Released, release_in_batches
from tacit.estimators.vote_settings import Resolved
from tacit.noise import Uncopyable
from tacit.students.active.base import Strategy, as_numbers, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.partition import IndexArray

SCALE = 4.0
"""Mean length of a point as strategies see it: their penalties are meant for that."""


class Asking(Uncopyable):
    """Asks in batches, and can be taken up again while the guarantee has room.

    Parameters
    ----------
    pool : OpenPool
        Private.
    how : Resolved
    public : PublicPool
        The pool as given.
    n_classes : int
    represented : bool
        Whether the caller chose the representation: strategies then see its coordinates.
    rng : numpy Generator
        For strategies. Not privacy noise.
    progress : bool, optional

    Attributes
    ----------
    latest : Released or None
        Everything released so far, also when a call failed on the way. Public.
    """

    def __init__(
        self,
        pool: OpenPool,
        how: Resolved,
        public: PublicPool,
        n_classes: int,
        *,
        represented: bool,
        rng: np.random.Generator,
        progress: bool | None,
    ) -> None:
        self._pool, self._how, self._n_classes, self._rng = pool, how, n_classes, rng
        self._represented = represented
        self.latest: Released | None = None
        self._ended = False
        self._public, self._hidden = public, None if progress is None else not progress

    def release(
        self, before: Released | None = None, *, query: Any = None, n: int | None = None
    ) -> Released:
        """Ask until the planned number is reached, the strategy stops, or ``n`` more were asked."""
        planned, start = self._how.n_questions, 0 if before is None else len(before.answers)
        room = planned if before is None else self.left(before)
        until = start + (room if n is None else min(room, n))
        strategy = self._strategy(before, query)
        with tqdm(
            total=planned, initial=start, desc="answers", unit="question", disable=self._hidden
        ) as bar:
            self.latest = release_in_batches(
                self._pool,
                cut_to(strategy, self._pool.positions),
                self._coordinates(strategy),
                until,
                self._rng,
                planned=planned,
                n_batches=self._how.n_batches,
                n_classes=self._n_classes,
                before=before,
                after_batch=lambda so_far: self._told(so_far, bar),
            )
        return self.latest

    def _told(self, so_far: Released, bar: Any) -> None:
        """Keep what was paid for, should a later batch fail, and move the bar."""
        self.latest = so_far
        bar.set_postfix(batch=len(so_far.batches), refresh=False)
        bar.update(len(so_far.answers) - bar.n)

    def left(self, released: Released) -> int:
        """How many questions may still be asked. Public."""
        if len(released.answers) >= len(self._pool.positions):
            return 0
        return max(0, min(self._how.n_questions - len(released.answers), self._pool.service.left))

    def _strategy(self, before: Released | None, query: Any) -> Strategy:
        if query is not None:
            strategy = strategy_named(query)
            check_classes(strategy, self._n_classes)
            return strategy
        assert self._how.strategy is not None  # a fit that asks all at once has no open run
        # One that had no more questions would have none now.
        self._ended |= before is not None and before.stopped == "strategy"
        return DiverseMargin() if self._ended else self._how.strategy

    def _coordinates(self, strategy: Strategy) -> Any:
        """Return the points of the open pool as numbers a strategy can compare."""
        given = take(self._public.points, self._pool.positions)
        if getattr(strategy, "coordinates", "pool") == "given":
            return as_numbers(given)
        if self._represented:
            return as_numbers(take(self._how.points.points, self._pool.positions))
        found = PoolRepresentation(scale=SCALE, flatten=0.0).fit(self._public.points)
        return found.transform(given)

    def __repr__(self) -> str:
        return "Asking(<private>)"


def cut_to(strategy: Strategy, positions: IndexArray) -> Strategy:
    """Return the strategy for the points that may be asked about (see ``Strategy``)."""
    restricted = getattr(strategy, "restricted", None)
    return strategy if restricted is None else restricted(positions)
