"""From votes to recorded answers: the path that batch and online use share."""

from tacit.labeling.external_votes import ExternalVotes, read_counts
from tacit.labeling.labeler import Labeler
from tacit.labeling.pool import FilteredPoolLabeler, PlannedPoolLabeler, PoolLabeler
from tacit.labeling.question import question_key, question_keys

__all__ = [
    "FilteredPoolLabeler",
    "Labeler",
    "PlannedPoolLabeler",
    "PoolLabeler",
    "ExternalVotes",
    "question_key",
    "question_keys",
    "read_counts",
]
