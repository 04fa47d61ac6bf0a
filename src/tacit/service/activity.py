"""Answers and refusals per hour: counted in memory, flushed periodically. Public."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence

from tacit.accounting.answer import Answer
from tacit.errors import LedgerUnavailable
from tacit.service.request_store import RequestStore


class Activity:
    """Counts what one worker released since the last flush."""

    def __init__(self, requests: RequestStore) -> None:
        self._requests = requests
        self._lock = threading.Lock()  # counted by the loop, flushed by another thread
        self._counts: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, analyst: str, answers: Sequence[Answer]) -> None:
        """Count answers shown to an analyst."""
        refused = sum(answer.refused for answer in answers)
        hour = int(self._requests.clock()) // 3600
        self._count((hour, analyst), len(answers) - refused, refused)

    def _count(self, key: tuple[int, str], answered: int, refused: int) -> None:
        with self._lock:
            counts = self._counts[key]
            counts[0] += answered
            counts[1] += refused

    def flush(self) -> None:
        """Add the counts to those of all workers."""
        with self._lock:
            counts, self._counts = self._counts, defaultdict(lambda: [0, 0])
        if not counts:
            return
        try:
            self._requests.add_activity({key: (a, r) for key, (a, r) in counts.items()})
        except LedgerUnavailable:
            # Keep what was not written for the next flush.
            for key, (answered, refused) in counts.items():
                self._count(key, answered, refused)
            raise

    def last_hours(self, hours: int) -> list[tuple[int, int, int]]:
        """Return (hours ago, answers, refusals), oldest first, empty hours included."""
        now = int(self._requests.clock()) // 3600
        known = {hour: (a, r) for hour, a, r in self._requests.activity(now - hours + 1)}
        return [(ago, *known.get(now - ago, (0, 0))) for ago in range(hours - 1, -1, -1)]
