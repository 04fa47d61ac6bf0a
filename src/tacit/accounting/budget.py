"""What is promised: a budget, and which data sets count as neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tacit import validation


@dataclass(frozen=True, slots=True)
class Budget:
    """An (epsilon, delta) differential privacy budget.

    Parameters
    ----------
    epsilon : float
        Positive and finite.
    delta : float, default 0
        In [0, 1). Keep it below one over the number of records.

    Examples
    --------
    >>> Budget(1.0, 1e-5)
    Budget(epsilon=1.0, delta=1e-05)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", validation.positive(epsilon=self.epsilon))
        object.__setattr__(self, "delta", validation.fraction(delta=self.delta))


class Neighbouring(StrEnum):
    """Which pairs of data sets the guarantee makes hard to tell apart.

    ``replace``
        One record (or one person's group of records) takes other values; the number of records
        is public. Goes with the equal positional split.
    ``add-remove``
        One record (or group) comes or goes; the number of records is private. Goes with shards
        assigned by a keyed hash of the record's own identifier.
    ``labels``
        Features are public; one record's label changes.

    Under each of them, with its own way of sharding, one record reaches one shard, one teacher
    and so at most one vote of every question.
    """

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    LABELS = "labels"
