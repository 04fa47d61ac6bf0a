"""Students that choose what to ask. Everything here is public: no strategy can reach a vote."""

from tacit.students.active.activeml import ScikitActiveML
from tacit.students.active.base import Strategy, check_classes, check_selection, schedule
from tacit.students.active.batches import QueryHistory, ask_in_batches
from tacit.students.active.diverse_margin import DiverseMargin
from tacit.students.active.exact_cal import ExactCAL
from tacit.students.active.flip_weight import FlipWeight
from tacit.students.active.margin import Margin, Random
from tacit.students.active.named import strategy_named
from tacit.students.active.yan_dbal import YanDBAL

__all__ = [
    "QueryHistory",
    "DiverseMargin",
    "ExactCAL",
    "FlipWeight",
    "Margin",
    "Random",
    "ScikitActiveML",
    "Strategy",
    "YanDBAL",
    "ask_in_batches",
    "check_classes",
    "check_selection",
    "schedule",
    "strategy_named",
]
