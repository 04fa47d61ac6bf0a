"""What clients received, kept through every crash, and compared with what the ledger says.

A client writes each reply to its journal, and to disk, before it does anything else. After a test
that killed processes, cut connections or stopped servers, ``find_faults`` compares all journals
with the ledger: there must be no answer without its record, no question with two answers, nothing
beyond the plan or the budget, and a chain that holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tacit.accounting.answer import Answer
from tacit.errors import LedgerError
from tacit.ledger import Ledger, PlanId


@dataclass(frozen=True, slots=True)
class Received:
    """One answer as a client received it; ``values`` is None for a refusal."""

    question: bytes
    values: tuple[int, ...] | None
    paid: int = 0

    @classmethod
    def of(cls, question: bytes, answer: Answer) -> Self:
        """Return what a client that got this answer has received."""
        return cls(question, answer.values, len(answer.cost))


class Journal:
    """A file of answers received; an entry is on disk when ``write`` returns.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> journal = Journal(Path(folder.name) / "journal")
    >>> journal.write([Received(b"question", (1,)), Received(b"another", None)])
    >>> [entry.values for entry in journal.entries()]
    [(1,), None]
    >>> folder.cleanup()
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def write(self, replies: Iterable[Received]) -> None:
        """Add what was received."""
        lines = [json.dumps([r.question.hex(), r.values, r.paid]) + "\n" for r in replies]
        with open(self.path, "a", encoding="ascii") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> Iterator[Received]:
        """Return what was received in full: a line cut short by a kill was not."""
        for line in self.path.read_text(encoding="ascii").splitlines(keepends=True):
            if line.endswith("\n"):
                question, values, paid = json.loads(line)
                yield Received(bytes.fromhex(question), values and tuple(values), paid)


def find_faults(
    ledger: Ledger, plan_id: PlanId, received: Iterable[Received], *, used_up: bool = False
) -> list[str]:
    """Return what is wrong between the ledger and what clients received under a plan.

    Parameters
    ----------
    ledger : Ledger
        Opened anew, after everything has stopped.
    plan_id : PlanId
    received : iterable of Received
        From all journals.
    used_up : bool, default False
        Whether clients asked until nothing more fitted: then less than the plan is a fault too.

    Examples
    --------
    >>> from tests.support.ledger_contract import BUDGET, CountingRelease, plan_of
    >>> from tacit.ledger import MemoryLedger
    >>> ledger = MemoryLedger(BUDGET)
    >>> plan = ledger.open_plan(plan_of(0.5), "run")
    >>> (answer,) = ledger.answer(plan, [b"x"], CountingRelease())
    >>> find_faults(ledger, plan, [Received.of(b"x", answer)])
    []
    >>> find_faults(ledger, plan, [Received(b"x", (7,)), Received(b"y", (0,))])
    ['x was answered in two ways', 'y was answered without a record']
    """
    got = list(received)
    recorded = ledger.recorded(plan_id, list({entry.question for entry in got}))
    faults = [fault for entry in got if (fault := _fault(entry, recorded.get(entry.question)))]
    most = ledger.plan(plan_id).most
    for event, used in ledger.usage(plan_id).items():
        if used > most[event]:
            faults.append(f"{used} {event.kind} events where {most[event]} were planned")
        if used_up and used < most[event]:
            faults.append(f"clients stopped at {used} of {most[event]} {event.kind} events")
    if ledger.reserved().epsilon > ledger.budget.epsilon:
        faults.append("more is reserved than the budget")
    try:
        ledger.verify()
    except LedgerError as error:
        faults.append(f"the chain does not hold: {error}")
    return faults


def _fault(entry: Received, kept: Answer | None) -> str | None:
    asked = entry.question
    name = asked.decode() if asked.isascii() else asked.hex()  # text, or the hash of a point
    if kept is None:
        return f"{name} was answered without a record"
    return None if kept.values == entry.values else f"{name} was answered in two ways"
