"""Classes of hypotheses: finitely many behaviours on finitely many points, each listed once."""

from tacit.hypotheses.base import Dichotomies, HypothesisClass, Minimum
from tacit.hypotheses.candidates import Candidates, IntegerThresholds, PublicCover
from tacit.hypotheses.finite import FiniteClass
from tacit.hypotheses.halfspaces import Halfspaces
from tacit.hypotheses.intervals import Intervals
from tacit.hypotheses.mistakes import ListedMistakes, MistakeCounts
from tacit.hypotheses.rectangles import Rectangles
from tacit.hypotheses.stumps import Stumps
from tacit.hypotheses.thresholds import Thresholds
from tacit.hypotheses.union import Union

__all__ = [
    "Candidates",
    "Dichotomies",
    "FiniteClass",
    "Halfspaces",
    "HypothesisClass",
    "IntegerThresholds",
    "Intervals",
    "ListedMistakes",
    "Minimum",
    "MistakeCounts",
    "PublicCover",
    "Rectangles",
    "Stumps",
    "Thresholds",
    "Union",
]
