"""Learners over classes of hypotheses, with guarantees that teacher voting alone cannot reach."""

from tacit.agnostic.active import SubsampledActiveLearner
from tacit.agnostic.agnostic_predictor import AgnosticPredictor
from tacit.agnostic.generic import GenericLearner
from tacit.agnostic.iter_label_boost import IterLabelBoost
from tacit.agnostic.label_boost import LabelBoost
from tacit.agnostic.learner import BaseLearner
from tacit.agnostic.oracle import AgnosticOracle
from tacit.agnostic.realizable import RealizablePredictor
from tacit.agnostic.semi_private import ExponentialLearner, SemiPrivateLearner
from tacit.agnostic.stable import PrivatePredictor, StablePredictor
from tacit.agnostic.universal import UniversalOracle

__all__ = [
    "AgnosticOracle",
    "AgnosticPredictor",
    "BaseLearner",
    "ExponentialLearner",
    "GenericLearner",
    "IterLabelBoost",
    "LabelBoost",
    "PrivatePredictor",
    "RealizablePredictor",
    "SemiPrivateLearner",
    "StablePredictor",
    "SubsampledActiveLearner",
    "UniversalOracle",
]
