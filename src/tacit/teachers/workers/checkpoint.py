"""Votes that outlive the process that counted them: what makes an interrupted run resumable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tacit.teachers.labels import IntArray


class VoteCheckpoint(Protocol):
    """Stores the votes of every teacher on the questions of one run. Private.

    A mark identifies the shard whose votes they are: it depends on the shard's records and
    labels, its number, the seed and the questions. Marks are as secret as the votes.
    """

    def load(self, number: int, mark: bytes) -> IntArray | None:
        """Return the votes of a shard's teacher, or None if there are none under this mark."""

    def save(self, votes: Mapping[int, tuple[bytes, IntArray]]) -> None:
        """Store the marks and votes of a few shards, all of them or none."""
