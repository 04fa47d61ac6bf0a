"""How often teachers err: a number with a price and a plan of its own.

[BTT18] Remark 1 sets the cut-off of the sparse vector from a private estimate of the error. Every
teacher is tested on records of its own shard (``tacit.teachers.holdout``); the mean of the rates is
released once. Proof: ``docs/proofs/cutoff.md``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.budget import Budget
from tacit.accounting.plan import Plan
from tacit.errors import LedgerError
from tacit.estimators.oracle.terms import ErrorEstimate, OracleTerms
from tacit.labeling.means import release_mean
from tacit.ledger import Ledger
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.noise import NoiseSource

ESTIMATE = b"mean error of the teachers"
"""The public name of the one number that an estimate releases."""


def mean_error(part: Budget, n_teachers: int) -> ClippedMean:
    """Return the release of the mean error: rates in [0, 1], moved to [-1/2, 1/2]."""
    return ClippedMean.for_budget(part, radius=0.5, dimension=1, n_teachers=n_teachers)


def estimate_plan(terms: OracleTerms) -> Plan:
    """Return the plan under which the error was estimated."""
    if terms.estimate is None:
        raise LedgerError("No error was estimated.")
    part, n_teachers = terms.estimate.guarantee, int(terms.settings["n_teachers"])
    return mean_error(part, n_teachers).plan(part.delta)


def estimate_error(
    test: ClippedMean,
    rates: NDArray[np.float64],
    ledger: Ledger,
    part: Budget,
    noise: NoiseSource,
    key: str,
) -> ErrorEstimate:
    """Release the mean of the teachers' error rates (private), or what was released before."""
    released = release_mean(
        test,
        rates[:, np.newaxis] - 0.5,
        ledger,
        delta=part.delta,
        noise=noise,
        key=f"{key}/error-estimate",
        name=ESTIMATE,
    )
    if released.share is None:
        raise LedgerError("The estimate on the ledger is not a number.")
    return ErrorEstimate(released.share[0] + 0.5, released.variance**0.5, part)


def check_affordable(
    ledger: Ledger, budget: Budget, answers: Plan, test: ClippedMean | None
) -> None:
    """Refuse, before anything is trained, what the ledger would refuse afterwards."""
    if test is None:
        ledger.check_plan(answers)
        return
    both = Plan(
        mechanism="PrivateOracle",
        events=(*answers.events, *test.planned_events()),
        guarantee=budget,
        accountant="sum of its two plans",
    )
    ledger.check_plan(both)
