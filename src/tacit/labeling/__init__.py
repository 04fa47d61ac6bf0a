"""From votes to recorded answers: the path that batch and online use share."""

from tacit.labeling.labeler import Labeler
from tacit.labeling.question import question_key, question_keys

__all__ = ["Labeler", "question_key", "question_keys"]
