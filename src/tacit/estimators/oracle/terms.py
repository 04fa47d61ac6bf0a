"""The terms of an oracle: everything about it that is public and fixed once it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.accounting.budget import Budget, Neighbouring
from tacit.mechanisms.base import VoteMechanism


@dataclass(frozen=True, slots=True)
class ErrorEstimate:
    """A released estimate of how often teachers err. Public, and paid for.

    Parameters
    ----------
    error : float
        Mean error rate of the teachers on records kept aside, with noise: may lie outside [0, 1].
    deviation : float
        Known standard deviation of that noise.
    guarantee : Budget
        What it cost, on its own plan.
    """

    error: float
    deviation: float
    guarantee: Budget

    @property
    def cautious(self) -> float:
        """Two deviations above the estimate, within [0, 1]."""
        return min(1.0, max(0.0, self.error + 2 * self.deviation))


@dataclass(frozen=True, slots=True)
class OracleTerms:
    """What an oracle promises and how it answers. Public.

    Parameters
    ----------
    budget : Budget
        Of everything it may release, the estimate of the error included.
    mechanism : VoteMechanism or None
        None where another source answers by itself.
    delta : float
        At which the run of answers is priced.
    key : str
        Name of its plan on the ledger.
    neighbouring : Neighbouring
    unit : {"record", "person"}
    assumptions : tuple of str
    settings : mapping
        Every setting in force, "auto" resolved.
    estimate : ErrorEstimate, optional
    """

    budget: Budget
    mechanism: VoteMechanism | None
    delta: float
    key: str
    neighbouring: Neighbouring
    unit: str
    assumptions: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    estimate: ErrorEstimate | None = None

    @property
    def estimate_key(self) -> str:
        """Name of the estimate's own plan on the ledger."""
        return f"{self.key}/error-estimate"
