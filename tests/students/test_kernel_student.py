"""The student with a kernel: lengths by evidence on released shares, along any boundary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

from tacit.accounting.answer import Answer, Output
from tacit.errors import InvalidArgument
from tacit.persistence import models
from tacit.students import KernelStudent, NoiseAwareStudent, fit_student
from tacit.students.columns import MOST_COLUMNS, PoolColumns, kernel_coordinates
from tacit.students.kernel_evidence import _Evidence, squared_exponential

FloatArray = Any


def noisy(second: FloatArray, deviation: float, seed: int = 1) -> FloatArray:
    noise = np.random.default_rng(seed).normal(scale=deviation, size=len(second))
    return np.column_stack([1 - second - noise, second + noise])


def xor(n_points: int, n_columns: int, seed: int) -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(seed).normal(size=(n_points, n_columns))
    return X, X[:, 0] * X[:, 1] > 0


def test_the_slope_of_the_evidence_is_that_of_differences():
    rng = np.random.default_rng(0)
    points, shares = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    evidence = _Evidence(points, shares, rng.uniform(0.5, 3, size=40), points[:9])
    at = np.array([0.3, -0.5, 0.1, -0.4, 0.2])
    steps = 1e-5 * np.eye(5)
    slopes = [(evidence.loss(at + step)[0] - evidence.loss(at - step)[0]) / 2e-5 for step in steps]
    assert np.allclose(evidence.loss(at)[1], slopes, rtol=1e-6)


def test_the_evidence_is_the_density_of_the_shares():
    rng = np.random.default_rng(0)
    points, shares = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    precision = rng.uniform(0.5, 3, size=12)
    value, _ = _Evidence(points, shares, precision, points).loss(np.log([2.0, 0.5, 1.0, 0.7]))
    kernel = 2 * squared_exponential(points, points, np.array([1.0, 0.7]))
    covariance = kernel + 0.5 * points @ points.T + 1 + np.diag(1 / precision)
    quadratic = float(shares[:, 0] @ np.linalg.solve(covariance, shares[:, 0])) / 2
    determinant = float(np.linalg.slogdet(covariance)[1] + np.log(precision).sum()) / 2
    assert value == pytest.approx(quadratic + determinant, rel=1e-4)


def test_a_circle_is_learnt_from_noisy_shares():
    X = np.random.default_rng(0).normal(size=(600, 2))
    inside = (X**2).sum(axis=1) < 1.4
    student = KernelStudent().fit_shares(
        X[:300], noisy(np.where(inside[:300], 0.9, 0.1), 0.3), variance=0.09, classes=[0, 1]
    )
    assert np.mean(student.predict(X[300:]) == inside[300:]) > 0.93
    proba = student.predict_proba(X[300:])
    assert np.allclose(proba.sum(axis=1), 1)
    # Probabilities are those that teachers vote for: .9 inside and .1 outside.
    assert abs(proba[inside[300:], 1].mean() - 0.85) < 0.1


def test_columns_that_do_not_matter_are_switched_off():
    X, y = xor(1200, 8, seed=0)
    student = KernelStudent().fit_shares(
        X[:800], noisy(np.where(y[:800], 0.7, 0.3), 0.3), variance=0.09, classes=[0, 1]
    )
    assert student.kernel_ == "rbf, one length per column"
    assert set(np.argsort(-student.inverse_lengths_)[:2]) == {0, 1}
    assert np.mean(student.predict(X[800:]) == y[800:]) > 0.85
    alike = KernelStudent(each_column=False).fit_shares(
        X[:800], noisy(np.where(y[:800], 0.7, 0.3), 0.3), variance=0.09, classes=[0, 1]
    )
    assert alike.kernel_ == "rbf" and len(set(alike.inverse_lengths_)) == 1
    assert alike.evidence_ < student.evidence_


def test_four_classes_around_a_point():
    X = np.random.default_rng(0).normal(size=(900, 2))
    labels = 2 * (X[:, 0] > 0) + (X[:, 1] > 0)
    shares = 0.1 + 0.6 * np.eye(4)[labels] + np.random.default_rng(1).normal(0, 0.3, (900, 4))
    student = KernelStudent(n_centres=60).fit_shares(
        X[:500], shares[:500], variance=0.09, classes=["a", "b", "c", "d"]
    )
    assert student.decision_function(X).shape == (900, 4)
    right = student.predict(X[500:]) == np.array(["a", "b", "c", "d"])[labels[500:]]
    assert right.mean() > 0.85


def test_plain_labels_are_learnt_too():
    X, y = xor(600, 2, seed=0)
    student = KernelStudent().fit(X[:300], np.where(y[:300], "same", "other"))
    assert np.mean(student.predict(X[300:]) == np.where(y[300:], "same", "other")) > 0.9
    with pytest.raises(InvalidArgument, match="two classes"):
        KernelStudent().fit(X, np.zeros(600))


def test_nothing_but_noise_gives_the_base_rate():
    X = np.random.default_rng(0).normal(size=(300, 3))
    student = KernelStudent().fit_shares(
        X, noisy(np.full(300, 0.3), 1.0), variance=1.0, classes=[0, 1]
    )
    proba = student.predict_proba(X)[:, 1]
    assert abs(proba.mean() - 0.3) < 0.1 and proba.std() < 0.12


def test_bad_arguments_are_refused():
    X = np.zeros((4, 2))
    with pytest.raises(InvalidArgument, match="n_centres"):
        KernelStudent(n_centres=0).fit_shares(X, np.ones((4, 2)), variance=1.0, classes=[0, 1])
    with pytest.raises(InvalidArgument, match="shares"):
        KernelStudent().fit_shares(X, np.ones((3, 2)), variance=1.0, classes=[0, 1])


class Release:
    """What ``fit_student`` reads of a release of shares."""

    output = Output.SHARE

    def __init__(self, second: FloatArray, deviation: float) -> None:
        rows = np.round(1000 * noisy(second, deviation)).astype(int).tolist()
        self.answers = [
            Answer(Output.SHARE, tuple(row), 0.001, 1000 * deviation, (), True) for row in rows
        ]
        self.positions = np.arange(len(second))


def fitted(pool: Any, release: Release, **settings: Any) -> Any:
    rng = np.random.default_rng(0)
    settings = {"represented": False, **settings}
    return fit_student("auto", pool, release, 2, "unlabelled", rng, **settings).model


@pytest.mark.parametrize("represented", [True, False])
def test_the_default_student_is_linear_where_the_truth_is(represented):
    X = np.random.default_rng(0).normal(size=(400, 5))
    truth = special.expit(2 * X[:, 0] - X[:, 1])
    model = fitted(X, Release(truth[:200], 0.2), represented=represented)
    assert isinstance(model[-1], NoiseAwareStudent)


@pytest.mark.parametrize("represented", [True, False])
def test_and_has_a_kernel_where_it_is_not(represented):
    X, y = xor(600, 3, seed=0)
    release = Release(np.where(y[:300], 0.9, 0.1), 0.2)
    model = fitted(X, release, represented=represented)
    assert isinstance(model[-1], KernelStudent)
    assert np.mean(model.predict(X[300:]) == y[300:]) > 0.9


def test_wide_points_are_seen_in_principal_coordinates():
    rng = np.random.default_rng(0)
    narrow, wide = rng.normal(size=(50, MOST_COLUMNS)), rng.normal(size=(50, MOST_COLUMNS + 1))
    assert isinstance(kernel_coordinates(narrow), PoolColumns)
    assert not isinstance(kernel_coordinates(wide), PoolColumns)
    words = [f"w{number}" for number in range(MOST_COLUMNS + 1)]
    assert not isinstance(kernel_coordinates(words), PoolColumns)


def test_columns_of_frames_are_numbers_and_indicators():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"age": [20.0, 40.0, 60.0, np.nan], "sex": pd.Categorical(["f", "m", "f", "m"])}
    )
    columns = PoolColumns().fit(frame)
    table = columns.transform(frame)
    assert table.shape == (4, 3) and np.isfinite(table).all()
    assert table[0, 0] == pytest.approx(-table[2, 0])
    assert np.abs(table[:, 1:]).max() == 0.5


def test_what_is_saved_predicts_the_same():
    X, y = xor(200, 2, seed=0)
    model = fitted(X, Release(np.where(y, 0.9, 0.1), 0.1))
    loaded = models.from_bytes(models.to_bytes([model]), models.OWN_TYPES, where="test")[0]
    assert (loaded.predict_proba(X) == model.predict_proba(X)).all()
