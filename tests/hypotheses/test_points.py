"""Points and labels: every cell is a number by itself, whatever container it comes in."""

from __future__ import annotations

import warnings
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from tacit.data.cells import numbers as as_numbers
from tacit.data.containers import cells_of
from tacit.errors import InvalidArgument
from tacit.hypotheses import PublicCover, Thresholds
from tacit.hypotheses.points import as_labels, as_points
from tacit.mechanisms.learning import PartlyLabelled, SelectionLearning
from tacit.noise import SecureNoise

HOSTILE = [
    "A3", "", "1e999", "nan", b"\xff", None, np.nan, np.inf, 10**400, -(10**400), 2**63, 1j,
    Decimal("sNaN"), Decimal("1e999"), Fraction(1, 3), datetime(2020, 1, 1), np.datetime64("NaT"),
    np.timedelta64(3, "D"), [1, 2], {"a": 1}, object(), True, np.float32(0.1),
    np.longdouble("1e4000"),
]  # fmt: skip


def containers(cells: list) -> dict[str, object]:
    """Return cells in every container that can hold them."""
    made: dict[str, object] = {"list": cells, "tuple": tuple(cells)}
    for name, make in {
        "array": np.array,
        "objects": lambda values: np.array(values, dtype=object),
        "texts": lambda values: np.array([str(value) for value in values]),
    }.items():
        try:
            made[name] = make(cells)
        except (ValueError, TypeError, OverflowError):
            continue
    return made


@pytest.mark.parametrize("cell", HOSTILE, ids=lambda cell: repr(cell)[:20])
def test_one_cell_changes_its_own_number_alone(cell) -> None:
    plain = [0, 1, 2.5, -3, True, 1, 0, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, values in containers([*plain, cell]).items():
            if isinstance(values, np.ndarray) and values.dtype.kind == "m":
                continue  # NumPy itself made times of the numbers
            numbers = as_numbers(cells_of(values))
            assert numbers.shape == (9,) and numbers[:8].tolist() == plain, name
            points = as_points(values, 1)
            assert np.isfinite(points).all() and points[:8, 0].tolist() == plain
            assert as_labels(values, 9)[:8].tolist() == [value == 1 for value in plain]


@pytest.mark.needs("pandas")
def test_frames_of_any_type_hold_the_same_numbers() -> None:
    import pandas as pd

    plain = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5]})
    expected = as_points(plain, 2)[:2].tolist()
    for odd in ("x", None, pd.NA, pd.Timestamp("2020-01-01"), 10**30):
        changed = plain.astype(object)
        changed.iloc[2, 0] = odd
        for frame in (changed, changed.assign(b=changed["b"].astype("category"))):
            assert as_points(frame, 2)[:2].tolist() == expected
    nullable = plain.astype({"a": "Int64", "b": "Float64"})
    nullable.iloc[2, 0] = pd.NA
    assert as_points(nullable, 2)[:2].tolist() == expected


def test_shapes_are_public_and_checked() -> None:
    assert as_points(sp.csr_matrix([[1, 0], [0, 2]]), 2).tolist() == [[1, 0], [0, 2]]
    for values in (np.array([[1], [2]]), np.array([1, 2])):
        with pytest.raises(InvalidArgument, match="2 columns|one row per point"):
            as_points(values, 2)
    assert as_points([[1, 2], [3]], 2).tolist() == [[1, 2], [3, 0]]  # a row's length is its own
    with pytest.raises(InvalidArgument, match="one label for each of 3"):
        as_labels([0, 1], 3)


def test_a_learner_takes_a_text_among_labels_in_silence() -> None:
    learner = SelectionLearning(PublicCover(Thresholds(), [0.0, 1.0]), 1.0, labelled=4)
    for odd in HOSTILE:
        records = PartlyLabelled.read(1, [0, 1, 2, odd], [0, 1, 1, odd])
        assert len(learner.release(records, noise=SecureNoise()).values) == 2
