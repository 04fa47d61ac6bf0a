"""The base of all estimators over hypotheses: parameters, constants, noise, privacy statement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tacit import validation
from tacit.accounting.budget import Neighbouring
from tacit.accounting.plan import Plan
from tacit.data.assumptions import KEEPS_ROW, LAST_DIGIT, READING
from tacit.noise import NoiseSource, SecureNoise
from tacit.report.statement import PrivacyStatement

ASSUMPTIONS = (
    "The number of records is public.",
    KEEPS_ROW,
    READING,
    LAST_DIGIT,
    "Features and labels of the records were not looked at to choose the settings.",
    "Which records were sampled, and every other draw, stays inside this process.",
)

CONSTANTS = ("practical", "paper")


class HypothesisEstimator(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator over a class of hypotheses.

    Each estimator lists its own parameters in ``__init__``, where scikit-learn looks for them, and
    hands them over in one call. Parameters that several estimators have are declared here.
    """

    hypotheses: Any
    base: Any
    epsilon: float
    delta: float
    selection_epsilon: float
    constants: str
    alpha: float | None
    beta: float | None
    ledger: Any
    key: str | None

    def _store_parameters(self, arguments: Mapping[str, Any]) -> None:
        """Set an attribute for every constructor argument, given as its ``locals()``."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def _uses_paper_constants(self) -> bool:
        return validation.one_of(CONSTANTS, constants=self.constants) == "paper"

    def _paper_alpha(self, meaning: str = "excess error to reach") -> float:
        return validation.probability(f"Give the {meaning}.", alpha=self.alpha)

    def _paper_beta(self, meaning: str = "chance of more") -> float:
        return validation.probability(f"Give the {meaning}.", beta=self.beta)

    def _check_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit first.")

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override it; their releases are marked as insecure."""
        return SecureNoise()

    def _plan_key(self, noise: NoiseSource) -> str:
        """Return the name of the plan on the ledger; a random one when none was given."""
        return self.key or f"fit-{noise.bits(64):016x}"

    def _statement(
        self, plan: Plan, *assumptions: str, mechanism: str, spent: float, **fields: Any
    ) -> PrivacyStatement:
        """Return the privacy statement of a plan over single records."""
        return PrivacyStatement(
            epsilon=plan.guarantee.epsilon,
            delta=plan.guarantee.delta,
            spent_epsilon=min(spent, plan.guarantee.epsilon),
            neighbouring=Neighbouring.REPLACE,
            unit="record",
            mechanism=mechanism,
            accountant=plan.accountant,
            assumptions=(*ASSUMPTIONS, *assumptions),
            **fields,
        )
