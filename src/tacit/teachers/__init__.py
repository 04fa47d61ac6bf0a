"""Private records to teachers' votes."""

from tacit.teachers.partition import Partition, equal_split, hash_split, votes_moved

__all__ = ["Partition", "equal_split", "hash_split", "votes_moved"]
