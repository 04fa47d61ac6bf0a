"""Rounds in which teachers correct a student instead of voting from nothing.

``coordinates`` and ``metric`` are public, ``logistic`` and ``learners`` make the private
contributions of teachers, ``rounds`` is the loop, whose only door is the clipped mean.
Proof: ``docs/proofs/rounds.md``.
"""

from tacit.correcting.coordinates import Coordinates
from tacit.correcting.learners import LearnerCorrections
from tacit.correcting.logistic import LogisticCorrections
from tacit.correcting.rounds import Corrected, Schedule, correct_in_rounds

__all__ = [
    "Coordinates",
    "Corrected",
    "LearnerCorrections",
    "LogisticCorrections",
    "Schedule",
    "correct_in_rounds",
]
