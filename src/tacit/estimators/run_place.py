"""Where a run stands: in memory by default, in a folder of a project when it must be resumable."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.estimators.vote_settings import Sharding
from tacit.teachers.workers.checkpoint import KeptVotes


@dataclass(frozen=True, repr=False)
class RunPlace:
    """What a run needs to be taken up again by another process. Private, but for ``key``.

    ``key`` names its plan on the ledger, ``hash_key`` assigns people to shards (add-remove), and
    ``kept`` holds the votes of teachers that were trained before.
    """

    key: str
    hash_key: bytes | None = None
    kept: KeptVotes | None = None

    def settled(self, sharding: Sharding) -> Sharding:
        """Return the sharding of the earlier attempts, where people are assigned by a hash."""
        if self.hash_key is None or sharding.hash_key is None:
            return sharding
        return Sharding(sharding.people, self.hash_key)
