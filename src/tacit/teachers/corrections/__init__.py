"""Rounds in which teachers correct a student instead of voting from nothing.

``coordinates`` and ``metric`` are public, ``logistic`` and ``learners`` make the private
contributions of teachers, ``rounds`` is the loop, whose only door is the clipped mean.
Proof: ``docs/proofs/rounds.md``.
"""

from tacit.teachers.corrections.coordinates import Coordinates
from tacit.teachers.corrections.learners import LearnerCorrections
from tacit.teachers.corrections.logistic import LogisticCorrections
from tacit.teachers.corrections.rounds import Corrected, Schedule, Standpoint, correct_in_rounds

__all__ = [
    "Coordinates",
    "Corrected",
    "LearnerCorrections",
    "LogisticCorrections",
    "Schedule",
    "Standpoint",
    "correct_in_rounds",
]
