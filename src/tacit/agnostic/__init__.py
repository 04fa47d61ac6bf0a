"""Learners over classes of hypotheses, with guarantees that teacher voting alone cannot reach."""

from tacit.agnostic.agnostic_predictor import AgnosticPredictor
from tacit.agnostic.oracle import AgnosticOracle
from tacit.agnostic.realizable import RealizablePredictor
from tacit.agnostic.stable import PrivatePredictor, StablePredictor
from tacit.agnostic.universal import UniversalOracle

__all__ = [
    "AgnosticOracle",
    "AgnosticPredictor",
    "PrivatePredictor",
    "RealizablePredictor",
    "StablePredictor",
    "UniversalOracle",
]
