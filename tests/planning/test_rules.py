"""The closed rules behind "auto": bounded, monotone, and functions of public sizes alone."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidArgument
from tacit.planning import rules

SIZES = st.integers(2, 10**7)
BUDGETS = st.floats(1e-3, 1e6)


@given(n=SIZES, epsilon=BUDGETS)
def test_every_teacher_has_at_least_two_records(n, epsilon):
    teachers = rules.teachers_for(n, epsilon)
    assert 1 <= teachers <= max(1, n // 2)


@given(n=SIZES, epsilon=BUDGETS)
def test_more_records_never_mean_fewer_teachers(n, epsilon):
    # Rounding may move one teacher.
    assert rules.teachers_for(n + n // 2 + 1, epsilon) >= rules.teachers_for(n, epsilon) - 1


@given(n=st.integers(1000, 10**7), epsilon=st.floats(0.1, 5.0))
def test_a_larger_budget_means_larger_shards(n, epsilon):
    assert rules.teachers_for(n, 2 * epsilon) <= rules.teachers_for(n, epsilon)


@given(n=st.integers(1, 10**6), shares=st.booleans())
def test_no_more_questions_than_points(n, shares):
    assert 1 <= rules.questions_for(n, shares=shares) <= min(n, 10_000)
    assert rules.questions_for(n, shares=True) >= rules.questions_for(n, shares=False)


@given(n=st.integers(4, 10**6))
def test_the_pool_of_label_private_learning_leaves_most_records(n):
    assert 2 <= rules.pool_part(n) <= min(1000, (n + 2) // 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rules.teachers_for(1, 1.0),
        lambda: rules.teachers_for(10, 0.0),
        lambda: rules.questions_for(0, shares=True),
        lambda: rules.pool_part(3),
    ],
)
def test_sizes_that_make_no_sense_are_refused(call):
    with pytest.raises(InvalidArgument):
        call()


def test_no_rule_takes_anything_but_numbers():
    for name in ("teachers_for", "questions_for", "pool_part"):
        kinds = {p.annotation for p in inspect.signature(getattr(rules, name)).parameters.values()}
        assert kinds <= {"int", "float", "bool"}
