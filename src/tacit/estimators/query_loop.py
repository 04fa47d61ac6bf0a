"""Questions chosen by the student, batch by batch, while the plan has room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tqdm import tqdm

from tacit.data.pool import PublicPool, take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.estimators.releases import Released
from tacit.estimators.vote_settings import VoteSettings
from tacit.estimators.voting import OpenPool, release_in_batches
from tacit.noise import Uncopyable
from tacit.students.active.base import Strategy, as_numbers, check_classes
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.named import strategy_named
from tacit.teachers.partition import IndexArray

SCALE = 4.0
"""Mean length of a point as strategies see it: their penalties are meant for that."""


class QueryLoop(Uncopyable):
    """Asks in batches, and can be resumed while planned questions are left. Holds the votes.

    Parameters
    ----------
    pool : OpenPool
        Private.
    settings : VoteSettings
    public : PublicPool
        The pool as given.
    n_classes : int
    rng : numpy Generator
        For strategies. Not privacy noise.
    progress : bool, optional
    """

    def __init__(
        self,
        pool: OpenPool,
        settings: VoteSettings,
        public: PublicPool,
        n_classes: int,
        *,
        rng: np.random.Generator,
        progress: bool | None,
    ) -> None:
        self._pool, self._settings, self._public = pool, settings, public
        self._n_classes, self._rng = n_classes, rng
        self._exhausted = False
        self._hidden = None if progress is None else not progress

    def release(
        self,
        before: Released | None = None,
        *,
        publish: Callable[[Released], None],
        query: Any = None,
        n: int | None = None,
    ) -> Released:
        """Ask until the planned number is reached, the strategy stops, or ``n`` more were asked.

        ``publish`` receives everything released so far after each batch.
        """
        planned, start = self._settings.n_questions, 0 if before is None else len(before.answers)
        room = planned if before is None else self.left(before)
        until = start + (room if n is None else min(room, n))
        strategy = self._strategy(before, query)
        with tqdm(
            total=planned, initial=start, desc="answers", unit="question", disable=self._hidden
        ) as bar:

            def after_batch(release: Released) -> None:
                publish(release)
                bar.set_postfix(batch=len(release.batches), refresh=False)
                bar.update(len(release.answers) - bar.n)

            return release_in_batches(
                self._pool,
                restrict(strategy, self._pool.positions),
                self._coordinates(strategy),
                until,
                self._rng,
                planned=planned,
                n_batches=self._settings.n_batches,
                n_classes=self._n_classes,
                before=before,
                after_batch=after_batch,
            )

    def left(self, release: Released) -> int:
        """Return how many questions may still be asked. Public."""
        n_answers = len(release.answers)
        if n_answers >= len(self._pool.positions):
            return 0
        return max(0, min(self._settings.n_questions - n_answers, self._pool.service.left))

    def _strategy(self, before: Released | None, query: Any) -> Strategy:
        if query is not None:
            strategy = strategy_named(query)
            check_classes(strategy, self._n_classes)
            return strategy
        assert self._settings.strategy is not None  # a fit that asks all at once has no loop
        # A strategy that stopped by itself has no more questions.
        self._exhausted |= before is not None and before.stopped == "strategy"
        return DiverseMargin() if self._exhausted else self._settings.strategy

    def _coordinates(self, strategy: Strategy) -> Any:
        """Return the points of the open pool as numbers a strategy can compare."""
        points = take(self._public.points, self._pool.positions)
        if getattr(strategy, "coordinates", "pool") == "given":
            return as_numbers(points)
        if self._settings.represented:
            return as_numbers(take(self._settings.points.points, self._pool.positions))
        representation = PoolRepresentation(scale=SCALE, flatten=0.0).fit(self._public.points)
        return representation.transform(points)

    def __repr__(self) -> str:
        return "QueryLoop(<private>)"


def restrict(strategy: Strategy, positions: IndexArray) -> Strategy:
    """Return the strategy for the points that may be asked about (see ``Strategy``)."""
    restricted = getattr(strategy, "restricted", None)
    return strategy if restricted is None else restricted(positions)
