"""What is public: coordinates of points, contrasts of classes, the metric of a round."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse, special

from tacit.errors import InvalidArgument
from tacit.teachers.corrections.coordinates import (
    LENGTH,
    Coordinates,
    as_contrasts,
    contrasts,
    with_constant,
)
from tacit.teachers.corrections.metric import PRIOR_WEIGHT, Metric, probabilities

RNG = np.random.default_rng(5)


# ---- coordinates --------------------------------------------------------------------------------


def test_too_many_coordinates_are_refused_before_they_fill_the_memory():
    words = sparse.random(1000, 2_000_000, density=1e-6, format="csr", rng=RNG)  # 16 GB as a table
    with pytest.raises(InvalidArgument, match="at most 10000 coordinates.*got 2000000.*Truncated"):
        Coordinates().fit(words)


def test_the_pool_has_the_same_mean_length_whatever_its_scale():
    points = RNG.normal(size=(200, 3))
    for scale in (1e-6, 1.0, 1e9):
        found = Coordinates().fit(scale * points).transform(scale * points)
        assert np.linalg.norm(found, axis=1).max() <= 2 * LENGTH + 1e-9
        assert np.linalg.norm(found, axis=1).mean() == pytest.approx(LENGTH, rel=0.05)


def test_values_that_are_no_numbers_become_the_centre_and_nothing_is_said(capfd):
    coordinates = Coordinates().fit(RNG.normal(size=(20, 3)))
    rows = np.array([[np.nan, 0, 0], [np.inf, -np.inf, 0], [1e308, -1e308, 1e308], [1, 2, 3]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coordinates.transform(rows)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found, axis=1).max() <= 2 * LENGTH + 1e-9
    assert found[3].tolist() == coordinates.transform(rows[3:])[0].tolist()
    assert capfd.readouterr() == ("", "")


def test_rows_are_transformed_each_by_itself():
    coordinates = Coordinates().fit(RNG.normal(size=(20, 7)))
    rows = RNG.normal(size=(33, 7))
    together = coordinates.transform(rows)
    for number in range(len(rows)):
        assert coordinates.transform(rows[number : number + 1])[0].tobytes() == (
            together[number].tobytes()
        )


def test_sparse_points_and_points_without_spread():
    points = sparse.random(30, 5, density=0.3, random_state=1, format="csr")
    dense = Coordinates().fit(points.toarray()).transform(points)
    np.testing.assert_array_equal(Coordinates().fit(points).transform(points), dense)
    assert not Coordinates().fit(np.ones((4, 2))).transform(np.ones((3, 2))).any()


@pytest.mark.parametrize("points", [np.ones(3), np.array([[np.nan]]), np.ones((2, 2, 2))])
def test_a_pool_that_is_no_table_of_numbers_is_refused(points):
    with pytest.raises(InvalidArgument, match="`representation` must make a table"):
        Coordinates().fit(points)


def test_the_constant_comes_last():
    assert with_constant(np.zeros((2, 1))).tolist() == [[0.0, 1.0], [0.0, 1.0]]


# ---- contrasts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
def test_scores_and_contrasts_are_each_others_inverse(n_classes):
    basis = contrasts(n_classes)
    np.testing.assert_allclose(basis.T @ basis, np.eye(n_classes - 1) / 2, atol=1e-12)
    np.testing.assert_allclose(basis.sum(axis=0), 0, atol=1e-12)
    found = RNG.normal(size=(9, n_classes - 1))
    np.testing.assert_allclose(as_contrasts(found @ basis.T), found, atol=1e-12)
    scores = RNG.normal(size=(9, n_classes))
    centred = scores - scores.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(as_contrasts(scores) @ basis.T, centred, atol=1e-12)
    np.testing.assert_allclose(
        probabilities(as_contrasts(scores), n_classes), special.softmax(scores, axis=1), atol=1e-12
    )


# ---- the metric of a round ----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_metric_is_the_prior_of_the_pool_labelled_by_the_student(make_setting, n_classes):
    _, _, pool, metric, _ = make_setting(n_classes)
    # Oracle: the mean over contrasts of the second derivative of each point's loss.
    basis = contrasts(n_classes)
    precision = np.eye(pool.shape[1])
    for row, proba in zip(pool, metric.probabilities, strict=True):
        curved = basis.T @ (np.diag(proba) - np.outer(proba, proba)) @ basis
        height = max(np.trace(curved) / (n_classes - 1), 0.02)
        precision += PRIOR_WEIGHT / len(pool) * height * np.outer(row, row)
    np.testing.assert_allclose(metric.whiten @ metric.whiten @ precision, np.eye(len(precision)),
                               atol=1e-8)  # fmt: skip
    np.testing.assert_allclose(metric.whiten, metric.whiten.T, atol=1e-12)


def test_scores_that_are_linear_are_found_again(make_setting):
    _, _, pool, metric, _ = make_setting(3)
    weights = RNG.normal(size=metric.weights.shape)
    found = metric.whiten @ metric.of_scores(pool @ weights)
    # Least squares by the curvature of each point, with the prior's ridge of one.
    seen = PRIOR_WEIGHT / len(pool) * (pool * metric.curvature[:, None]).T @ pool
    expected = np.linalg.solve(seen + np.eye(len(seen)), seen @ weights)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_contributions_are_as_long_as_expected_to_first_order(make_setting):
    """The first-order length, against the length of residuals drawn from the student."""
    _, _, pool, metric, _ = make_setting(3)
    points, labels = metric.imagined_labels(np.random.default_rng(0), 4000, 3)
    miss = np.eye(3)[labels] - metric.probabilities[points]
    rows = np.einsum("kia,kic->kac", (pool @ metric.whiten)[points], miss @ contrasts(3))
    length = np.sqrt((rows**2).sum(axis=(1, 2)).mean())
    assert metric.typical_length(3) == pytest.approx(length, rel=0.1)


def test_imagined_labels_are_drawn_from_the_student(make_setting):
    _, _, pool, metric, _ = make_setting(3)
    points, labels = metric.imagined_labels(np.random.default_rng(0), 4000, 5)
    assert points.shape == labels.shape == (4000, 5)
    assert set(np.unique(labels)) == {0, 1, 2}
    counts = np.stack([np.bincount(points[labels == k], minlength=len(pool)) for k in range(3)])
    shares = (counts / counts.sum(axis=0)).T
    # 60 points of about 333 draws: six standard deviations of a share are below 0.17.
    assert np.abs(shares - metric.probabilities).max() < 0.17


def test_a_sure_student_keeps_some_curvature():
    pool = with_constant(RNG.normal(size=(30, 2)))
    metric = Metric.of(pool, np.full((3, 1), 1e3), 2)
    assert np.isfinite(metric.whiten).all()
    assert metric.curvature.min() > 0
