"""How learners draw for a ledger: releases made of functions, and plans opened under a key."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from tacit.accounting.answer import Answer
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.hypotheses.points import FloatArray, as_points
from tacit.ledger import Analyst, Ledger
from tacit.noise import NoiseSource, Uncopyable


def _keep_nothing() -> None:
    """Nothing is kept between answers."""


@dataclass(frozen=True, repr=False, eq=False)
class LedgerRelease:
    """A ``tacit.ledger.Release`` whose price does not depend on what the plan has left.

    Parameters
    ----------
    price : callable
        From a number of new questions to the most they can cost.
    answer : callable
        From positions of new questions to their answers.
    forget : callable, optional
        Discards live noise.
    """

    price: Callable[[int], Mapping[Event, int]]
    answer: Callable[[Sequence[int]], list[Answer]]
    forget: Callable[[], None] = _keep_nothing

    @classmethod
    def per_answer(cls, event: Event, answer: Callable[[Sequence[int]], list[Answer]]) -> Self:
        """Return a release that pays one event for every new question."""
        return cls(lambda questions: {event: questions}, answer)

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        return self.price(questions)

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> list[Answer]:
        return self.answer(new)

    def abandon(self) -> None:
        self.forget()


class OpenedPlan(Uncopyable, ABC):
    """A plan opened on a ledger, with what answers questions within it."""

    def __init__(
        self, plan: Plan, ledger: Ledger, *, n_features: int, noise: NoiseSource, key: str
    ) -> None:
        ledger.check_noise(noise)
        self.ledger = ledger
        self.plan_id = ledger.open_plan(plan, key)
        self.plan = ledger.plan(self.plan_id)
        self._n_features, self._noise = n_features, noise
        self._lock = threading.Lock()

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; those answered before get the same answer, at no cost."""
        release = self._release(as_points(points, self._n_features))
        with self._lock:
            return self.ledger.answer(self.plan_id, list(questions), release, on_behalf=on_behalf)

    @abstractmethod
    def _release(self, table: FloatArray) -> LedgerRelease:
        """Return what draws the answers about these points."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.ledger!r})"
