"""Private records to teachers' votes."""

from tacit.teachers.diagnostics import Diagnostics
from tacit.teachers.learner import check_learner
from tacit.teachers.on_shards import count_on_shards, train_on_shards
from tacit.teachers.partition import Partition, equal_split, hash_split, votes_moved
from tacit.teachers.teacher import Teacher
from tacit.teachers.train import train_and_count, train_teachers
from tacit.teachers.vote import TeacherEnsemble
from tacit.teachers.workers.batches import ShardSource
from tacit.teachers.workers.memory import MemoryEstimate, estimate_memory
from tacit.teachers.workers.retrying import retrying

__all__ = [
    "Diagnostics",
    "MemoryEstimate",
    "Partition",
    "ShardSource",
    "Teacher",
    "TeacherEnsemble",
    "check_learner",
    "count_on_shards",
    "equal_split",
    "estimate_memory",
    "hash_split",
    "retrying",
    "train_and_count",
    "train_on_shards",
    "train_teachers",
    "votes_moved",
]
