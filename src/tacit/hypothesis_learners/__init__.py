"""Learners over classes of hypotheses, with guarantees that teacher voting alone cannot reach."""

from tacit.hypothesis_learners.active import SubsampledActiveLearner
from tacit.hypothesis_learners.agnostic_predictor import AgnosticPredictor
from tacit.hypothesis_learners.generic import GenericLearner
from tacit.hypothesis_learners.iter_label_boost import IterLabelBoost
from tacit.hypothesis_learners.label_boost import LabelBoost
from tacit.hypothesis_learners.learner import BaseLearner
from tacit.hypothesis_learners.oracle import AgnosticOracle
from tacit.hypothesis_learners.realizable import RealizablePredictor
from tacit.hypothesis_learners.semi_private import ExponentialLearner, SemiPrivateLearner
from tacit.hypothesis_learners.stable import PrivatePredictor, StablePredictor
from tacit.hypothesis_learners.universal import UniversalOracle

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
