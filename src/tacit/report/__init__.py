"""What was learnt, spent and assumed: in words, and for programs."""

from tacit.report.public_check import PublicCheck
from tacit.report.run_report import RunReport
from tacit.report.statement import PrivacyStatement

__all__ = ["PrivacyStatement", "PublicCheck", "RunReport"]
