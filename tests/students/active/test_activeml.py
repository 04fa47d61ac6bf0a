"""Strategies of scikit-activeml, where it is installed."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.support.strategy_contract import STRATEGY_CHECKS

from tacit.errors import InvalidArgument
from tacit.students.active import ScikitActiveML

NONE = np.array([], dtype=int)


def strategies():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip("skactiveml.pool", exc_type=ImportError)
    return found


@pytest.mark.parametrize("check", STRATEGY_CHECKS.values(), ids=STRATEGY_CHECKS.keys())
@pytest.mark.parametrize("name", ["UncertaintySampling", "RandomSampling", "CoreSet"])
@pytest.mark.filterwarnings("ignore")
def test_its_strategies_keep_the_contract(name, check):
    made = ScikitActiveML(getattr(strategies(), name)())
    check(lambda X_pool, n_classes: made)


def test_what_is_no_strategy_of_scikit_activeml_is_refused():
    with pytest.raises(InvalidArgument, match=r"\.\[active\]"):
        ScikitActiveML("margin").select(np.zeros((3, 1)), NONE, NONE, 1, np.random.default_rng(0))
