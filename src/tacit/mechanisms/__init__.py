"""The only door from private votes to public answers: one module, and one proof page, per idea."""

from tacit.mechanisms.base import Mechanism, Run, VoteMechanism
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.mechanisms.confident import ConfidentVote
from tacit.mechanisms.counts import VoteCounts
from tacit.mechanisms.exponential import (
    ExponentialVote,
    Selection,
    exponential_mechanism,
    permute_and_flip,
)
from tacit.mechanisms.hypothesis import ChosenHypothesis, select_hypothesis
from tacit.mechanisms.instability import StableAnswer, StableRelease, StableVote
from tacit.mechanisms.noisy_argmax import GaussianVote, LaplaceVote
from tacit.mechanisms.sparse_vector import SparseVote

__all__ = [
    "ChosenHypothesis",
    "ClippedMean",
    "ConfidentVote",
    "ExponentialVote",
    "GaussianVote",
    "LaplaceVote",
    "Mechanism",
    "Run",
    "Selection",
    "SparseVote",
    "StableAnswer",
    "StableRelease",
    "StableVote",
    "VoteCounts",
    "VoteMechanism",
    "exponential_mechanism",
    "permute_and_flip",
    "select_hypothesis",
]
