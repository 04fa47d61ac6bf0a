"""Votes that outlive the process that counted them: what makes an interrupted run resumable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tacit.teachers.labels import IntArray


class KeptVotes(Protocol):
    """Keeps what every teacher voted on the questions of one run. Private.

    A mark tells whether votes are still those of the shard: it depends on the shard's records and
    labels, its number, the seed and the questions. Whoever keeps votes keeps marks as secret.
    """

    def load(self, number: int, mark: bytes) -> IntArray | None:
        """Return what the teacher of a shard voted, None when it is not known under this mark."""

    def save(self, votes: Mapping[int, tuple[bytes, IntArray]]) -> None:
        """Keep the marks and votes of a few shards, all of them or none."""
