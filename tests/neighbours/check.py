"""One pair from its name to its verdict: what the command and the tests share."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any

from tests.neighbours.command import observe_process
from tests.neighbours.compare import Failure, compare
from tests.neighbours.containers import NotBuilt
from tests.neighbours.observe import Observation, observe
from tests.neighbours.pairs import Pair, draw_pair

STAGES = ("pair", "fit", "cli", "process")
"""Reader and teachers; a complete fit; ``tacit fit`` in this process; the same in a new one."""


@dataclass(frozen=True)
class Name:
    """What a pair is found again by: ``stage:seed``, or ``stage:seed:path`` for one path."""

    stage: str
    seed: int
    path: str | None = None

    @classmethod
    def read(cls, text: str) -> Name:
        """Return the name in a log."""
        stage, seed, *path = text.split(":")
        if stage not in STAGES:
            raise ValueError(f"{text!r} must begin with one of {', '.join(STAGES)}.")
        return cls(stage, int(seed), path[0] if path else None)

    def __str__(self) -> str:
        return f"{self.stage}:{self.seed}" + ("" if self.path is None else f":{self.path}")


@dataclass
class Verdict:
    """What became of a pair. ``outcome`` is passed, failed, refused or unbuilt.

    Refused: both runs ended alike before anything reached a mechanism, which shows less than a
    pair that went through. Unbuilt: the container's library took the cells of one side not at all.
    """

    name: str
    outcome: str
    path: str
    container: str
    refusal: str = ""
    failures: list[Failure] = field(default_factory=list)
    description: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON has it."""
        told = [[one.claim, one.detail[:400]] for one in self.failures]
        return {"name": self.name, "failures": told, **self.description}


def check(name: Name) -> Verdict:
    """Run both sides of a pair and compare them."""
    pair = draw_pair(name.seed, "fit" if name.stage in ("cli", "process") else name.path)
    verdict = Verdict(str(name), "passed", pair.path, pair.container)
    try:
        found, first = differences(pair, name.stage)
    except NotBuilt:
        verdict.outcome = "unbuilt"
        return verdict
    except Exception:  # a defect of the harness must not pass for a pair that held
        found, first = [Failure("harness", traceback.format_exc()[-800:])], Observation()
    if found:
        verdict.outcome, verdict.failures = "failed", found
        verdict.description = pair.describe()
    elif not first.record.reached:
        verdict.outcome = "refused"
        verdict.refusal = ascii(first.public.get("exception", first.public.get("errors")))[:120]
    return verdict


def differences(pair: Pair, stage: str = "pair") -> tuple[list[Failure], Observation]:
    """Return how the two sides differ, and what was seen of the first."""
    if stage == "process":
        first = observe_process(pair, 0, None)
        second = observe_process(pair, 1, first)
    else:
        complete = stage != "pair"
        first = observe(pair, 0, complete=complete, before=None)
        second = observe(pair, 1, complete=complete, before=first)
    return compare(first, second), first
