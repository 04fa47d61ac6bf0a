"""The claim: what one record may change, and that nothing else changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from tests.neighbours.observe import Observation
from tests.neighbours.seams import Ballot, Round


@dataclass(frozen=True)
class Failure:
    """Something that one record changed and must not have changed."""

    claim: str
    detail: str

    def __str__(self) -> str:
        return f"{self.claim}: {self.detail}"


def compare(first: Observation, second: Observation) -> list[Failure]:
    """Return how two runs on neighbours differ beyond one vote or one vector."""
    found = []
    a, b = first.record, second.record
    if (len(a.ballots), len(a.rounds)) != (len(b.ballots), len(b.rounds)):
        found.append(
            Failure("releases", f"{len(a.ballots)} ballots and {len(a.rounds)} rounds, against "
                    f"{len(b.ballots)} and {len(b.rounds)}")
        )  # fmt: skip
    for number, pair in enumerate(zip(a.ballots, b.ballots, strict=False)):
        found += _ballots(number, *pair)
    for number, rounds in enumerate(zip(a.rounds, b.rounds, strict=False)):
        found += _rounds(number, *rounds)
    found += _teachers(first, second)
    found += _public(first, second)
    return found


def _ballots(number: int, a: Ballot, b: Ballot) -> list[Failure]:
    where = f"ballot {number}"
    if a.counts.shape != b.counts.shape or a.n_teachers != b.n_teachers:
        return [Failure("questions", f"{where}: other questions, classes or teachers")]
    found = []
    moved = int(np.abs(a.counts - b.counts).sum(axis=1).max(initial=0))
    if moved > 2:
        found.append(Failure("votes", f"{where}: counts of a question differ by {moved}"))
    if len(a.votes) == len(b.votes):
        changed = sum(not np.array_equal(x, y) for x, y in zip(a.votes, b.votes, strict=True))
        if changed > 1:
            found.append(
                Failure("teachers' votes", f"{where}: {changed} of {len(a.votes)} teachers changed")
            )
    return found


def _rounds(number: int, a: Round, b: Round) -> list[Failure]:
    where = f"round {number}"
    if a.public != b.public or a.vectors.shape != b.vectors.shape:
        return [Failure("radius", f"{where}: {a.public} {a.vectors.shape} against "
                        f"{b.public} {b.vectors.shape}")]  # fmt: skip
    found = []
    # Their order does not matter to a sum, and teachers may be grouped by the sizes of shards.
    rows = [Counter(row.tobytes() for row in one.vectors) for one in (a, b)]
    changed = (rows[0] - rows[1]).total()
    if changed > 1:
        moved = np.sqrt(((a.vectors - b.vectors).sum(axis=0).astype(float) ** 2).sum())
        found.append(
            Failure("vectors", f"{where}: {changed} of {len(a.vectors)} vectors changed, the sum "
                    f"by {moved / a.levels:.3g} radii")
        )  # fmt: skip
    for one in (a, b):
        longest = (one.vectors.astype(object) ** 2).sum(axis=1).max(initial=0)
        if longest > one.levels**2:
            found.append(Failure("vectors", f"{where}: a vector is longer than its radius"))
    return found


def _teachers(first: Observation, second: Observation) -> list[Failure]:
    """Compare what learners were given in both runs.

    A teacher is fitted once for all ballots and once for every round, and asked once for each.
    """
    a, b = first.record, second.record
    rounds = max(len(a.rounds), len(b.rounds))
    ballots = max(len(a.ballots), len(b.ballots))
    found = []
    for claim, x, y, most in (
        ("records of teachers", a.fitted, b.fitted, max(1, rounds + (ballots > 0))),
        ("questions to teachers", a.questions, b.questions, max(1, rounds + ballots)),
    ):
        before, after = Counter(x), Counter(y)
        changed = max((before - after).total(), (after - before).total())
        if changed > most:
            found.append(Failure(claim, f"{changed} of {max(len(x), len(y))} changed"))
    return found


def _public(first: Observation, second: Observation) -> list[Failure]:
    found = []
    for name in sorted({*first.public, *second.public}):
        a, b = first.public.get(name), second.public.get(name)
        if repr(a) != repr(b):
            found.append(Failure(f"public {name}", _difference(a, b)))
    return found


def _difference(a: object, b: object) -> str:
    x, y = ascii(a), ascii(b)
    at = next((k for k in range(min(len(x), len(y))) if x[k] != y[k]), min(len(x), len(y)))
    start = max(0, at - 60)
    return f"{x[start : at + 160]} against {y[start : at + 160]}"
