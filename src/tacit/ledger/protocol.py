"""The interface of every ledger, whatever stores its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol, Self, runtime_checkable

from tacit.accounting.answer import Answer
from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.plan import Plan
from tacit.ledger.analysts import Account, Analyst
from tacit.ledger.answers import Tally
from tacit.ledger.chain import Row
from tacit.ledger.composition import Amount, Composition

PlanId = NewType("PlanId", int)


@dataclass(frozen=True, slots=True)
class Head:
    """The newest row of a ledger: its number and its hash. Public.

    A head exported to another place lets ``verify`` detect later that a row up to it was changed,
    or that the ledger was put back to an earlier state.

    Examples
    --------
    >>> Head(seq=0, hash="ab" * 32)
    Head(seq=0, hash='abababab...')
    """

    seq: int
    hash: str

    @classmethod
    def of(cls, row: Row) -> Head:
        """Return the head of a ledger whose newest row is this one."""
        return cls(row.seq, row.hash.hex())

    def __repr__(self) -> str:
        return f"Head(seq={self.seq}, hash='{self.hash[:8]}...')"


class Release(Protocol):
    """Draws the answers of one call of ``Ledger.answer``; holds the votes and the noise."""

    def most(self, questions: int, room: Mapping[Event, int]) -> Mapping[Event, int]:
        """Return the most that so many new questions can cost, from public state alone.

        ``room`` is what the plan has left. A release that can stop on the way stays within it; any
        other returns its full price and is refused when that does not fit.
        """

    def draw(self, new: Sequence[int], room: Mapping[Event, int]) -> Sequence[Answer]:
        """Answer the questions at these positions, in order; fewer when the run stops."""

    def abandon(self) -> None:
        """Discard live noise: something was drawn, and it is not known that it was recorded."""


@runtime_checkable
class Ledger(Protocol):
    """The privacy account of one data set: reserved guarantees, released answers and their cost.

    A ledger has a lifetime budget. A plan reserves its whole guarantee when it is opened, or is
    refused. Answers are drawn, written and committed in one durable transaction, and leave only
    after it; a question that already has an answer gets that answer, at no cost.

    ``MemoryLedger``, ``SqliteLedger`` and ``PostgresLedger`` implement it;
    ``tests.support.ledger_contract.check_ledger`` tests any other implementation.
    """

    @property
    def budget(self) -> Budget:
        """The lifetime budget, fixed when the ledger was created."""

    @property
    def composition(self) -> Composition:
        """How the guarantees of plans add up, fixed when the ledger was created."""

    @property
    def allow_insecure(self) -> bool:
        """Whether answers drawn from a test source of noise may be recorded (and are marked)."""

    def open_plan(self, plan: Plan, key: bytes | str) -> PlanId:
        """Reserve the whole guarantee of a plan.

        The same key with the same plan returns the same id at no further cost: this is how a run
        resumes after a crash. Raises ``BudgetExceeded`` when the plan does not fit in what is left,
        ``InvalidArgument`` when the key belongs to a different plan.
        """

    def check_plan(self, plan: Plan) -> None:
        """Raise ``BudgetExceeded`` when a plan would not fit in what is left; write nothing.

        For work that comes before a plan is opened: ``open_plan`` decides again.
        """

    def find_plan(self, key: bytes | str) -> PlanId | None:
        """Return the plan that was opened with this key, None if there is none."""

    def plan(self, plan_id: PlanId) -> Plan:
        """Return an opened plan."""

    def answer(
        self,
        plan_id: PlanId,
        questions: Sequence[bytes],
        release: Release,
        *,
        on_behalf: Analyst | None = None,
    ) -> list[Answer]:
        """Answer questions under a plan; nothing is returned before its record is durable.

        Parameters
        ----------
        plan_id : PlanId
        questions : sequence of bytes
            Public identifiers. One that has an answer under this plan gets the stored one, free;
            one that occurs twice is drawn once.
        release : Release
            Draws the answers of the questions that have none.
        on_behalf : Analyst, optional
            Who will be shown the answers; recorded in the same transaction. An answer drawn for
            somebody else counts too, with what it cost, the first time this analyst is shown it.

        Returns
        -------
        list of Answer
            In the order asked; shorter when the run stopped on the way. What an answer cost is on
            it the first time only.

        Raises
        ------
        BudgetExceeded
            When the most it can cost does not fit in what the plan has left; nothing was drawn.
        AllowanceExceeded
            When it does not fit in what the analyst may still be shown; nothing was drawn or shown.
        LedgerUnavailable
            When it could not be recorded: nothing was released.
        """

    def recorded(self, plan_id: PlanId, questions: Sequence[bytes]) -> dict[bytes, Answer]:
        """Return the stored answers, with what each cost, of those questions that have one."""

    def recorded_for(self, plan_id: PlanId, name: str) -> Account:
        """Return what one analyst was shown under a plan: a reading, not a guarantee."""

    def accounts(self, plan_id: PlanId) -> list[Account]:
        """Return what every analyst was shown under a plan, in the order they first asked."""

    def usage(self, plan_id: PlanId) -> dict[Event, int]:
        """Return how often each event of the plan has happened so far.

        A reading, not a guarantee: how far a run gets depends on what was released. The guarantee
        that holds beforehand is the plan's.
        """

    def tally(self, plan_id: PlanId) -> Tally:
        """Return how many questions were answered and refused under the plan so far."""

    def spent(self) -> Amount:
        """Return the composed guarantee of the plans under which something was released.

        A reading, too: the guarantee is ``reserved()``, and over the lifetime ``budget``.
        """

    def reserved(self) -> Amount:
        """Return the composed guarantee of all opened plans."""

    def remaining(self) -> Amount:
        """Return what a further plan may cost."""

    def lifetime(self) -> Amount:
        """Return the guarantee for everything ever released.

        The budget; once more for each restore from a backup that may have lost spend.
        """

    def statement(self) -> str:
        """Return the state of the account in words."""

    def head(self) -> Head:
        """Return the newest row's number and hash."""

    def verify(self, known: Head | None = None) -> Head:
        """Verify the whole chain and return its head.

        ``known`` is a head exported earlier, which the ledger must still contain. Raises
        ``LedgerCorrupt`` with the number of the first row that does not hold.
        """

    def close(self) -> None:
        """Release files and connections; they are reopened when the ledger is used again."""

    def __sklearn_clone__(self) -> Self:
        """Return the ledger itself: cloned estimators share one account."""


class DetachedLedger:
    """Takes the place of a ledger in a pickled model; fitting such a model again is refused."""

    def __repr__(self) -> str:
        return "<ledger left behind>"
