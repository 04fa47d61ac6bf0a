"""Private answers online: teachers stay inside, questions come one at a time."""

from tacit.oracle.budget_left import BudgetLeft
from tacit.oracle.private_oracle import PrivateOracle
from tacit.oracle.terms import ErrorEstimate, OracleTerms

__all__ = ["BudgetLeft", "ErrorEstimate", "OracleTerms", "PrivateOracle"]
