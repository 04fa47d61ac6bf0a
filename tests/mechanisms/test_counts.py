"""Vote counts: what they refuse, and that they say nothing about themselves."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidArgument, PrivateValueError
from tacit.mechanisms import VoteCounts

SECRET = 7351


@pytest.mark.parametrize(
    ("counts", "rule"),
    [
        ([[SECRET, 1]], "sum to n_teachers"),
        ([[-SECRET, 10000 + SECRET]], "between 0 and"),
        ([[SECRET, 20000]], "between 0 and"),
        ([[math.nan, SECRET]], "whole numbers"),
        ([[math.inf, SECRET]], "whole numbers"),
        ([[SECRET + 0.5, 10000 - SECRET - 0.5]], "whole numbers"),
        ([[str(SECRET), "1"]], "array of whole numbers"),
        ([[SECRET, 1], [2]], "array of whole numbers"),
        ([[SECRET]], "two columns"),
        ([], "two columns"),
        (np.full((1, 2, 2), SECRET), "one row per question"),
        (None, "array of whole numbers"),
        ([[True, False]], "array of whole numbers"),
    ],
)
def test_bad_counts_get_one_clear_error_that_shows_none_of_them(counts, rule):
    with pytest.raises(InvalidArgument, match=re.escape(rule)) as refusal:
        VoteCounts(counts, n_teachers=10000)
    assert str(SECRET) not in str(refusal.value)
    assert refusal.value.__context__ is None


@pytest.mark.parametrize("n_teachers", [0, -3, 2.5, True])
def test_the_number_of_teachers_is_a_positive_integer(n_teachers):
    with pytest.raises(InvalidArgument, match="n_teachers"):
        VoteCounts([[1, 1]], n_teachers)


def rows(n_classes):
    return st.lists(st.integers(0, 10**6), min_size=n_classes, max_size=n_classes)


@given(st.integers(2, 5).flatmap(rows).filter(lambda row: sum(row) > 0))
def test_good_counts_are_kept_and_not_shown(row):
    counts = VoteCounts(row, sum(row))
    assert counts.private_array().tolist() == [row]
    shown = repr(counts)
    assert shown == (
        f"VoteCounts(n_questions=1, n_classes={len(row)}, n_teachers={sum(row)}, counts=<private>)"
    )
    assert str(counts) == shown


@given(st.lists(st.integers(-5, 20), min_size=2, max_size=4), st.integers(1, 30))
def test_counts_are_accepted_iff_every_teacher_votes_once(row, n_teachers):
    good = min(row) >= 0 and sum(row) == n_teachers
    try:
        VoteCounts(row, n_teachers)
    except InvalidArgument:
        assert not good
    else:
        assert good


@given(
    rows=st.lists(st.tuples(st.integers(-2, 7), st.integers(-2, 7)), min_size=1, max_size=6),
    big=st.booleans(),
)
def test_a_few_counts_are_checked_like_many(rows, big):
    """Whole tables of numpy's own integers, in the quick way for a few and in the way for many."""
    table = np.array(rows, dtype=np.int64)
    if big:
        table[0, 0] = 2**63 - 1
    right = all(min(row) >= 0 and sum(row) == 5 for row in table.tolist())
    for given_table in (table, np.concatenate([table, [[2, 3]] * 10])):
        if right:
            assert len(VoteCounts(given_table, 5)) == len(given_table)
        else:
            with pytest.raises(InvalidArgument, match="between 0 and|sum to n_teachers"):
                VoteCounts(given_table, 5)


def test_numpy_cannot_take_them_by_accident():
    counts = VoteCounts([[1, 2]], 3)
    with pytest.raises(PrivateValueError):
        np.asarray(counts)
    with pytest.raises(PrivateValueError):
        np.add(counts, 1)


def test_they_are_a_copy_that_cannot_be_changed():
    source = np.array([[1, 2]])
    counts = VoteCounts(source, 3)
    source[0, 0] = 9
    assert counts.private_array().tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="read-only"):
        counts.private_array()[0, 0] = 5


def test_parts_keep_the_teachers():
    counts = VoteCounts([[1, 2], [3, 0], [2, 1]], 3)
    assert len(counts) == 3
    assert counts[1].private_array().tolist() == [[3, 0]]
    assert counts[[0, 2]].private_array().tolist() == [[1, 2], [2, 1]]
    assert len(counts[:0]) == 0 and counts[:0].n_classes == 2
    assert counts[1:].n_teachers == 3
    assert [part.private_array().tolist() for part in counts] == [[[1, 2]], [[3, 0]], [[2, 1]]]


def test_they_travel_between_processes():
    again = pickle.loads(pickle.dumps(VoteCounts([[1, 2]], 3)))
    assert again.private_array().tolist() == [[1, 2]] and again.n_teachers == 3
