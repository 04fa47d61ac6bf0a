"""Ways in which one record once reached every teacher, each as it was found.

The others have tests of their own: unclosed quotes in ``tests/data/tables/test_lines.py``,
rectangles in ``tests/hypotheses/test_plane_rectangles.py``, stacked linear models in
``tests/teachers/test_fused.py``, noise kept ahead in ``tests/accounting/test_noise.py``.
"""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from tests.neighbours.learners import Fingerprint
from tests.neighbours.seams import Halt, Record, intercepted

from tacit import Corrections, GaussianVote, PATEClassifier, Votes

pd = pytest.importorskip("pandas")

N, TEACHERS = 200, 20
RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, N)


def seen(X: Any, y: Any, pool: Any, *, groups: Any = None, **settings: Any) -> Record:
    """Return what reaches the mechanism at the first release of a fit."""
    record = Record()
    defaults: dict[str, Any] = {
        "learner": Fingerprint(), "classes": [0, 1], "n_teachers": TEACHERS, "random_state": 1,
        "epsilon": 50.0, "representation": None, "verbose": False,
        "method": Votes(GaussianVote(2.0, answers=len(pool)), n_questions=len(pool), query=None),
    }  # fmt: skip
    clf = PATEClassifier(**{**defaults, **settings})
    with intercepted(record, 7, halt=True), pytest.raises(Halt):
        clf.fit(X, y, X_public=pool, groups=groups)
    return record


def teachers_changed(one: Record, other: Record) -> int:
    """Return how many teachers voted otherwise, or corrected otherwise."""
    if one.rounds:
        left, right = one.rounds[0].vectors, other.rounds[0].vectors
        return int((left != right).any(axis=1).sum())
    pairs = zip(one.ballots[0].votes, other.ballots[0].votes, strict=True)
    return sum(not np.array_equal(left, right) for left, right in pairs)


def table(codes: list[str], **how: Any) -> Any:
    """Return what ``read_csv`` makes of a column of codes and one of numbers."""
    rows = "".join(f"{code},{k}\n" for k, code in enumerate(codes))
    return pd.read_csv(io.StringIO("code,age\n" + rows), **how)


CODES = [f"0{RNG.integers(10, 40)}" for _ in range(N)]
POOLS = {
    "str": lambda: table(CODES[:60], dtype={"code": "str"}),
    "object": lambda: table(CODES[:60], dtype={"code": "str"}).astype({"code": object}),
    "category": lambda: table(CODES[:60], dtype={"code": "str"}).astype({"code": "category"}),
}


@pytest.mark.parametrize("kind", POOLS)
def test_one_code_with_a_letter_changes_one_vote(kind: str) -> None:
    pool = POOLS[kind]()
    plain, odd = table(CODES), table(["A3", *CODES[1:]])
    assert plain["code"].dtype != odd["code"].dtype
    assert teachers_changed(seen(plain, LABELS, pool), seen(odd, LABELS, pool)) <= 1


@pytest.mark.parametrize("learner", [None, "logistic"])
def test_one_code_with_a_letter_changes_one_correction(learner: str | None) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    pool = POOLS["str"]()
    settings: dict[str, Any] = {"method": Corrections(rounds=2), "learner": None}
    settings["representation"] = "auto"
    if learner is not None:
        known = [sorted(set(pool["code"]))]
        encoder = make_column_transformer(
            (OneHotEncoder(categories=known, handle_unknown="ignore"), ["code"]),
            remainder="passthrough",
        )
        settings["learner"] = make_pipeline(encoder, LogisticRegression())
    plain, odd = table(CODES), table(["A3", *CODES[1:]])
    left, right = (seen(one, LABELS, pool, **settings) for one in (plain, odd))
    assert teachers_changed(left, right) <= 1


@pytest.mark.parametrize("make", [np.array, list, pd.Series])
def test_one_label_that_is_no_truth_value_changes_one_vote(make: Any) -> None:
    X, pool = RNG.normal(size=(N, 2)), RNG.normal(size=(30, 2))
    truths = [bool(label) for label in LABELS]
    plain, odd = make(truths), make(["unknown", *truths[1:]])
    assert teachers_changed(seen(X, plain, pool), seen(X, odd, pool)) <= 1


@pytest.mark.parametrize(
    ("names", "odd"),
    [
        ([f"{k:05d}" for k in range(N)], "A0017"),
        ([str(10**17 + 10**9 * k + 7) for k in range(N)], ""),
    ],
    ids=["leading zeros", "eighteen digits"],
)
def test_one_identifier_moves_nobody_else(names: list[str], odd: str) -> None:
    X, pool = RNG.normal(size=(N, 2)), RNG.normal(size=(30, 2))

    def people(column: list[str]) -> Any:
        text = "".join(f"{one},0\n" for one in column)
        return pd.read_csv(io.StringIO("id,x\n" + text))["id"]

    common: dict[str, Any] = {"neighbouring": "add-remove"}
    rest = seen(X[1:], LABELS[1:], pool, groups=people(names[1:]), **common)
    for first in (names[0], odd):
        whole = seen(X, LABELS, pool, groups=people([first, *names[1:]]), **common)
        assert teachers_changed(rest, whole) <= 1


ODD_KINDS = {
    "period": pd.period_range("2020-01", periods=N, freq="M"),
    "interval": pd.IntervalIndex.from_breaks(range(N + 1)),
    "decimal": [Decimal(k) / 4 for k in range(N)],
    "timedelta": pd.to_timedelta(range(N), unit="h"),
}


@pytest.mark.parametrize("kind", ODD_KINDS)
def test_a_cell_that_does_not_convert_raises_nothing(kind: str) -> None:
    column = pd.Series(ODD_KINDS[kind])
    plain = pd.DataFrame({"a": column, "b": range(N)})
    odd = plain.astype({"a": object})
    odd.iloc[0, 0] = "secret"
    pool = plain.iloc[:60]
    assert teachers_changed(seen(plain, LABELS, pool), seen(odd, LABELS, pool)) <= 1


def test_classes_that_are_digits_take_labels_of_any_type() -> None:
    X, pool = RNG.normal(size=(N, 2)), RNG.normal(size=(30, 2))
    labels = [int(label) for label in LABELS]
    numbers, texts = np.array(labels), np.array(["x", *map(str, labels[1:])], dtype=object)
    left, right = (seen(X, y, pool, classes=["0", "1"]) for y in (numbers, texts))
    assert teachers_changed(left, right) <= 1
