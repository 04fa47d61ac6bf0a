"""What is particular to the ledger in memory: it stays in its process."""

from __future__ import annotations

import os
import pickle

import pytest
from tests.support.ledger_contract import BUDGET, CountingRelease, plan_of

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, LedgerError
from tacit.ledger import MemoryLedger

# Python warns of forks beside other threads; the test runner has some, and these children are safe.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def test_it_cannot_be_sent_to_another_process() -> None:
    with pytest.raises(LedgerError, match="Give `ledger=` a path"):
        pickle.dumps(MemoryLedger(BUDGET))


def test_parallel_fits_are_refused() -> None:
    from joblib import Parallel, delayed

    ledger = MemoryLedger(BUDGET)
    with pytest.raises(Exception) as refused:
        Parallel(n_jobs=2)(delayed(MemoryLedger.head)(ledger) for _ in range(2))
    assert "parallel fits" in f"{refused.value!r} {refused.value.__cause__!r}"


def test_it_cannot_be_used_in_a_forked_child() -> None:
    ledger = MemoryLedger(BUDGET)
    plan = ledger.open_plan(plan_of(0.5), "a")
    child = os.fork()
    if child == 0:
        try:
            ledger.answer(plan, [b"q"], CountingRelease())
        except LedgerError as error:
            os._exit(0 if "parallel fits" in str(error) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_test_noise_can_be_refused() -> None:
    ledger = MemoryLedger(BUDGET, allow_insecure=False)
    plan = ledger.open_plan(plan_of(0.5), "a")
    with pytest.raises(LedgerError, match="test noise"):
        ledger.answer(plan, [b"q"], CountingRelease())


def test_bad_promises_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="`composition`"):
        MemoryLedger(BUDGET, composition="renyi")
    with pytest.raises(InvalidArgument, match="`budget`"):
        MemoryLedger(1.0)  # type: ignore[arg-type]


def test_it_shows_public_settings() -> None:
    assert repr(MemoryLedger(Budget(2.0))).startswith("MemoryLedger(budget=Budget(epsilon=2.0")
