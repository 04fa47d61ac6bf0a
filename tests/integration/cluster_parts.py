"""Learners and shards that go wrong on purpose; imported by the workers of clusters."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from sklearn.linear_model import LogisticRegression

from tacit.data.shards import ShardFolder


class Recording(LogisticRegression):
    """Leaves a file named after its process, and dies where it is told to.

    ``once`` names a file: whoever makes it is killed at once. ``fatal`` is the seed of the shard
    that kills whoever trains on it, ``hangs`` a file like ``once`` for waiting a while instead.
    """

    def __init__(
        self,
        place: str | None = None,
        once: str | None = None,
        hangs: str | None = None,
        fatal: int | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(random_state=random_state)
        self.place, self.once, self.hangs, self.fatal = place, once, hangs, fatal

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if self.place is not None:
            (Path(self.place) / f"{os.getpid()}").touch()
        if first(self.once) or (self.fatal is not None and self.random_state == self.fatal):
            os.kill(os.getpid(), signal.SIGKILL)
        if first(self.hangs):
            time.sleep(20)
        return super().fit(X, y, sample_weight)


class InWorkers(Recording):
    """Dies in workers alone: the calling process fits it on public points."""

    def __init__(
        self,
        parent: int = 0,
        place: str | None = None,
        once: str | None = None,
        hangs: str | None = None,
        fatal: int | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__(place, once, hangs, fatal, random_state)
        self.parent = parent

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if os.getpid() == self.parent:
            return LogisticRegression.fit(self, X, y, sample_weight)
        return super().fit(X, y, sample_weight)


class Stays:
    """A setting that can be copied, but not be sent to another process."""

    def __deepcopy__(self, memo: Any) -> Stays:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("this stays here")


class FailingOnce(ShardFolder):
    """Shards of which one cannot be read by the first who tries, as on a node with a bad disk."""

    def __init__(self, shards: ShardFolder, number: int, flag: Path) -> None:
        super().__init__(shards.path, shards.sharding)
        self.number, self.flag = number, str(flag)

    def read(self, number: int) -> Any:
        if number == self.number and first(self.flag):
            raise OSError("Input/output error")
        return super().read(number)


class Unreadable(ShardFolder):
    """Shards of which some can be read by nobody."""

    def __init__(self, shards: ShardFolder, numbers: list[int]) -> None:
        super().__init__(shards.path, shards.sharding)
        self.numbers = numbers

    def read(self, number: int) -> Any:
        if number in self.numbers:
            raise OSError("Input/output error")
        return super().read(number)


def first(flag: str | None) -> bool:
    """Return whether this process is the first to come by."""
    if flag is None:
        return False
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
