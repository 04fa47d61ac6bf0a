"""Small public data sets, checked against their checksums before use."""

from tacit.data.sets.loaders import (
    Labelled,
    TrainTest,
    cache_dir,
    data_file,
    load_a9a,
    load_adult,
    load_mnist,
    load_mushrooms,
    load_newsgroups,
    load_votes,
)
from tacit.data.sets.two_classes import load_two_classes

__all__ = [
    "Labelled",
    "TrainTest",
    "cache_dir",
    "data_file",
    "load_a9a",
    "load_adult",
    "load_mnist",
    "load_mushrooms",
    "load_newsgroups",
    "load_two_classes",
    "load_votes",
]
