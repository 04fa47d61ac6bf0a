"""From votes to recorded answers: the path that batch and online use share."""

from tacit.labeling.labeler import Labeler
from tacit.labeling.question import question_key, question_keys
from tacit.labeling.source import Answering, AnswerSource, Voters, VotingSource

__all__ = [
    "AnswerSource",
    "Answering",
    "Labeler",
    "Voters",
    "VotingSource",
    "question_key",
    "question_keys",
]
