"""Model-agnostic private learning: teachers vote, votes are released with differential privacy.

The names below are loaded when they are first used, so that ``import tacit`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.accounting.answer import Answer as Answer
    from tacit.accounting.answer import Output as Output
    from tacit.accounting.budget import Budget as Budget
    from tacit.accounting.budget import Neighbouring as Neighbouring
    from tacit.data.column import Column as Column
    from tacit.data.pool import PublicPool as PublicPool
    from tacit.data.representations.coordinates import PoolRepresentation as PoolRepresentation
    from tacit.data.representations.steps import StepFeatures as StepFeatures
    from tacit.data.schema import Schema as Schema
    from tacit.data.tables.read import read_table as read_table
    from tacit.estimators.classifier import PATEClassifier as PATEClassifier
    from tacit.estimators.methods import Corrections as Corrections
    from tacit.estimators.methods import Votes as Votes
    from tacit.estimators.oracle.private_oracle import PrivateOracle as PrivateOracle
    from tacit.ledger.open import open_ledger as open_ledger
    from tacit.mechanisms.clipped_mean import ClippedMean as ClippedMean
    from tacit.mechanisms.confident import ConfidentVote as ConfidentVote
    from tacit.mechanisms.counts import VoteCounts as VoteCounts
    from tacit.mechanisms.exponential import ExponentialVote as ExponentialVote
    from tacit.mechanisms.exponential import exponential_mechanism as exponential_mechanism
    from tacit.mechanisms.exponential import permute_and_flip as permute_and_flip
    from tacit.mechanisms.instability import StableRelease as StableRelease
    from tacit.mechanisms.instability import StableVote as StableVote
    from tacit.mechanisms.noisy_argmax import GaussianVote as GaussianVote
    from tacit.mechanisms.noisy_argmax import LaplaceVote as LaplaceVote
    from tacit.mechanisms.sparse_vector import SparseVote as SparseVote
    from tacit.noise import SecureNoise as SecureNoise
    from tacit.persistence.oracle import load_oracle as load_oracle
    from tacit.persistence.oracle import save_oracle as save_oracle
    from tacit.persistence.public_model import PublicModel as PublicModel
    from tacit.persistence.student import load_student as load_student
    from tacit.persistence.student import save_student as save_student
    from tacit.students.noise_aware import NoiseAwareStudent as NoiseAwareStudent

# Read from here, without importing, when the package is built.
__version__ = "0.1.0.dev0"

_EXPORTS = {
    "Answer": "tacit.accounting.answer",
    "Budget": "tacit.accounting.budget",
    "ClippedMean": "tacit.mechanisms.clipped_mean",
    "Column": "tacit.data.column",
    "ConfidentVote": "tacit.mechanisms.confident",
    "Corrections": "tacit.estimators.methods",
    "ExponentialVote": "tacit.mechanisms.exponential",
    "GaussianVote": "tacit.mechanisms.noisy_argmax",
    "LaplaceVote": "tacit.mechanisms.noisy_argmax",
    "Neighbouring": "tacit.accounting.budget",
    "NoiseAwareStudent": "tacit.students.noise_aware",
    "Output": "tacit.accounting.answer",
    "PATEClassifier": "tacit.estimators.classifier",
    "PoolRepresentation": "tacit.data.representations.coordinates",
    "PrivateOracle": "tacit.estimators.oracle.private_oracle",
    "PublicModel": "tacit.persistence.public_model",
    "PublicPool": "tacit.data.pool",
    "Schema": "tacit.data.schema",
    "SecureNoise": "tacit.noise",
    "SparseVote": "tacit.mechanisms.sparse_vector",
    "StableRelease": "tacit.mechanisms.instability",
    "StableVote": "tacit.mechanisms.instability",
    "StepFeatures": "tacit.data.representations.steps",
    "VoteCounts": "tacit.mechanisms.counts",
    "Votes": "tacit.estimators.methods",
    "exponential_mechanism": "tacit.mechanisms.exponential",
    "load_oracle": "tacit.persistence.oracle",
    "load_student": "tacit.persistence.student",
    "open_ledger": "tacit.ledger.open",
    "permute_and_flip": "tacit.mechanisms.exponential",
    "read_table": "tacit.data.tables.read",
    "save_oracle": "tacit.persistence.oracle",
    "save_student": "tacit.persistence.student",
}

__all__ = ["__version__", *_EXPORTS]


def __getattr__(name: str) -> Any:
    """Load a public name from its module, once."""
    if name not in _EXPORTS:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_EXPORTS[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
