"""Saving and loading: the student for everyone, the ensemble for its holder alone.

No pickle is read or written. A student is one public file; an ensemble, or an oracle, is a
directory that only its owner can read. Both are checked whole before anything in them is used.
"""

from tacit.persistence.ensemble import load_ensemble, save_ensemble
from tacit.persistence.oracle import load_oracle, save_oracle
from tacit.persistence.public_model import PublicModel
from tacit.persistence.student import load_student, save_student, saved_report

__all__ = [
    "PublicModel",
    "load_ensemble",
    "load_oracle",
    "load_student",
    "save_ensemble",
    "save_oracle",
    "save_student",
    "saved_report",
]
