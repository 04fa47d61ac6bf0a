"""Private answers online: teachers stay inside, questions come one at a time."""

from tacit.estimators.oracle.budget_left import BudgetLeft
from tacit.estimators.oracle.private_oracle import PrivateOracle
from tacit.estimators.oracle.terms import ErrorEstimate, OracleTerms

__all__ = ["BudgetLeft", "ErrorEstimate", "OracleTerms", "PrivateOracle"]
