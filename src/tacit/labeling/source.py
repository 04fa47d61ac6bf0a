"""Where answers come from: the seam between an oracle and whatever holds the private records.

An ``AnswerSource`` has the public classes and, once it is opened on a ledger, answers questions
about public points. Teachers that vote are one (``VotingSource``); a learner that answers by
another priced release, or votes counted elsewhere, is another. Whoever asks sees answers only.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from tacit.accounting.answer import Answer
from tacit.accounting.plan import Plan
from tacit.data.pool import take
from tacit.labeling.labeler import Labeler
from tacit.ledger import Analyst, Ledger, PlanId
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import NoiseSource


class Answering(Protocol):
    """A source opened on a ledger: its plan is reserved, and it answers within it."""

    @property
    def plan(self) -> Plan:
        """What may be released at most, and the guarantee for all of it. Public."""

    @property
    def plan_id(self) -> PlanId:
        """The plan's number on the ledger. Public."""

    @property
    def ledger(self) -> Ledger:
        """The account it spends from."""

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions about public points, as ``Labeler.ask`` does.

        ``questions`` are the public names of the points: a name that has an answer gets it again,
        free. Safe to call from several threads.
        """


class AnswerSource(Protocol):
    """Anything that can answer questions about public points through a ledger."""

    @property
    def classes(self) -> NDArray[Any]:
        """What an answer's label is the index of. Public."""

    def open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> Answering:
        """Reserve the plan, or resume the one opened under this key."""


class Voters(Protocol):
    """Anything that counts votes: teachers kept here, or votes that come from elsewhere."""

    @property
    def n_teachers(self) -> int:
        """How many vote on every question. Public."""

    def count(self, X: Any) -> VoteCounts:
        """Return the votes on public points, one row each. Private."""


class VotingSource:
    """Answers by votes that a mechanism releases.

    Parameters
    ----------
    voters : Voters
        Such as a ``TeacherEnsemble``. Private.
    mechanism : VoteMechanism
        Public.
    classes : array of labels
        Public.
    delta : float
        At which the whole run is priced. Public.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.mechanisms import GaussianVote
    >>> from tacit.accounting.budget import Budget
    >>> from tacit.ledger import MemoryLedger
    >>> from tacit.noise import SecureNoise
    >>> class Elsewhere:
    ...     n_teachers = 1000
    ...     def count(self, X):
    ...         return VoteCounts([[3, 997] if x > 0 else [990, 10] for (x,) in X], 1000)
    >>> vote = GaussianVote(sigma=30.0, answers=10)
    >>> source = VotingSource(Elsewhere(), vote, np.array(["no", "yes"]), delta=1e-5)
    >>> ledger = MemoryLedger(Budget(1.0, 1e-5))
    >>> opened = source.open(ledger, noise=SecureNoise(), key="documentation")
    >>> opened.ask(np.array([[2.0], [-1.0]]), [b"first", b"second"])
    [Answer(label=1), Answer(label=0)]
    """

    def __init__(
        self, voters: Voters, mechanism: VoteMechanism, classes: NDArray[Any], *, delta: float
    ) -> None:
        self.classes = classes
        self.mechanism, self.delta = mechanism, delta
        self._voters = voters
        # One count at a time: learners may draw from process-wide generators, and a vote must not
        # depend on what another thread is being asked.
        self._counting = threading.Lock()

    def private_voters(self) -> Voters:
        """Return who votes: for saving. Private."""
        return self._voters

    def open(self, ledger: Ledger, *, noise: NoiseSource, key: str) -> VotedAnswers:
        """Reserve the plan, or resume the one opened under this key."""
        labeler = Labeler(
            self.mechanism,
            ledger,
            delta=self.delta,
            noise=noise,
            n_teachers=self._voters.n_teachers,
            key=key,
        )
        return VotedAnswers(labeler, self)

    def count(self, points: Any) -> VoteCounts:
        """Return the votes on points. Private."""
        with self._counting:
            return self._voters.count(points)

    def __repr__(self) -> str:
        return f"VotingSource({self.mechanism!r}, n_teachers={self._voters.n_teachers})"


class VotedAnswers:
    """A ``VotingSource`` opened on a ledger."""

    def __init__(self, labeler: Labeler, source: VotingSource) -> None:
        self._labeler, self._source = labeler, source

    @property
    def plan(self) -> Plan:
        """What may be released at most, and the guarantee for all of it."""
        return self._labeler.plan

    @property
    def plan_id(self) -> PlanId:
        """The plan's number on the ledger."""
        return self._labeler.plan_id

    @property
    def ledger(self) -> Ledger:
        """The account it spends from."""
        return self._labeler.ledger

    def ask(
        self, points: Any, questions: Sequence[bytes], *, on_behalf: Analyst | None = None
    ) -> list[Answer]:
        """Answer questions; votes are counted for those that have no answer yet."""

        def counted(rows: Sequence[int]) -> VoteCounts:
            return self._source.count(take(points, list(rows)))

        return self._labeler.ask(counted, questions, on_behalf=on_behalf)

    def __repr__(self) -> str:
        return f"VotedAnswers({self._labeler!r})"
