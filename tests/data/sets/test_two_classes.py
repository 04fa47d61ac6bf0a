"""Two-class versions of real data sets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.data.sets.two_classes import TWO_CLASSES, load_two_classes, sublinear_rows
from tacit.errors import InvalidArgument


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="mushrooms"):
        load_two_classes("real-sim")


def test_word_counts_become_unit_rows_and_are_left_alone() -> None:
    counts = sp.csr_matrix([[1.0, 3.0, 0.0], [0.0, 0.0, 11151.0], [0.0, 0.0, 0.0]])
    rows = sublinear_rows(counts)
    assert np.allclose(np.sqrt(rows.multiply(rows).sum(axis=1)).ravel(), [1, 1, 0])
    assert rows[0, 1] / rows[0, 0] == pytest.approx(1 + np.log(3))
    assert counts[0, 1] == 3.0


@pytest.mark.needs("data")
@pytest.mark.parametrize(
    ("name", "shape", "ones"),
    [
        ("mushrooms", (8124, 112), 4208),
        ("a9a", (48842, 123), 7841 + 3846),
        ("newsgroups", (18846, 20958), 2974 + 1980),
    ],
)
def test_real_sets_have_their_published_sizes(name: str, shape: tuple[int, int], ones: int) -> None:
    data = load_two_classes(name)
    assert name in TWO_CLASSES
    assert (data.X.shape, int(data.y.sum())) == (shape, ones)
    assert set(data.y.tolist()) == {0, 1}
