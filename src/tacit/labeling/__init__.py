"""From votes to recorded answers: the path that batch and online use share."""

from tacit.labeling.elsewhere import VotesElsewhere, read_counts
from tacit.labeling.labeler import Labeler
from tacit.labeling.question import question_key, question_keys
from tacit.labeling.service import FilteredService, LabellingService, PlannedService

__all__ = [
    "FilteredService",
    "Labeler",
    "LabellingService",
    "PlannedService",
    "VotesElsewhere",
    "question_key",
    "question_keys",
    "read_counts",
]
