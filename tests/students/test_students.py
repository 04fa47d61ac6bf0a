"""Students see released answers and public points, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tacit.accounting.answer import Answer, Output
from tacit.errors import InvalidArgument
from tacit.students import FittedStudent, NoiseAwareStudent, fit_on_labels, released_labels


def answer(label: int | None) -> Answer:
    values = None if label is None else (label,)
    return Answer(Output.LABEL, values, unit=1.0, sigma=0.0, cost=(), secure=True)


def test_refusals_are_unlabelled():
    assert released_labels([answer(1), answer(None), answer(0)]).tolist() == [1, -1, 0]


@pytest.mark.parametrize(("labels", "expected"), [([1, 1], 1), ([-1, -1], 0), ([-1, 2], 2)])
def test_fewer_than_two_classes_give_a_constant(labels, expected):
    model = fit_on_labels(LogisticRegression(), [[0.0], [1.0]], np.array(labels))
    assert model.predict([[3.0], [4.0]]).tolist() == [expected, expected]


def test_the_student_given_is_left_alone():
    student = LogisticRegression()
    fit_on_labels(student, np.array([[0.0], [1.0]]), np.array([0, 1]))
    assert not hasattr(student, "coef_")


def test_a_fitted_student_offers_what_its_model_offers():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 2])
    plain = FittedStudent(LinearSVC().fit(X, y), 3)
    assert not hasattr(plain, "predict_proba")
    proba = FittedStudent(LogisticRegression().fit(X, y), 3).predict_proba(X)
    assert proba.shape == (3, 3) and proba[:, 1].max() == 0
    assert np.allclose(proba.sum(axis=1), 1)


def noisy_shares(n_classes: int, sigma: float) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    clean = special.softmax(3 * X[:, :n_classes], axis=1)
    if n_classes == 2:
        second = clean[:, 1] + rng.normal(scale=sigma, size=300)
        return X, np.column_stack([1 - second, second]), clean
    return X, clean + rng.normal(scale=sigma, size=clean.shape), clean


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.5])
def test_the_noise_aware_student_averages_noise_out(n_classes, sigma):
    X, shares, clean = noisy_shares(n_classes, sigma)
    student = NoiseAwareStudent().fit_shares(
        X, shares, variance=sigma**2, classes=np.arange(n_classes)
    )
    right = student.predict(X) == clean.argmax(axis=1)
    assert right.mean() > (0.95 if sigma < 0.5 else 0.8)
    assert np.allclose(student.predict_proba(X).sum(axis=1), 1)


def test_more_noise_means_a_tighter_prior():
    X, _, clean = noisy_shares(2, 0.0)
    rng = np.random.default_rng(1)
    second = 0.5 + rng.normal(scale=3.0, size=300)  # nothing but noise
    nothing = NoiseAwareStudent().fit_shares(
        X, np.column_stack([1 - second, second]), variance=9.0, classes=[0, 1]
    )
    signal = NoiseAwareStudent().fit_shares(X, clean, variance=1e-4, classes=[0, 1])
    assert nothing.prior_variance_ < signal.prior_variance_
    assert np.abs(nothing.coef_).max() < np.abs(signal.coef_).max()


def test_the_noise_aware_student_learns_plain_labels_too():
    X, _, clean = noisy_shares(3, 0.0)
    labels = np.array(["a", "b", "c"])[clean.argmax(axis=1)]
    student = NoiseAwareStudent().fit(X, labels)
    assert (student.predict(X) == labels).mean() > 0.9
    with pytest.raises(InvalidArgument, match="two classes"):
        NoiseAwareStudent().fit(X, np.zeros(300))


@pytest.mark.parametrize(
    ("settings", "shares", "variance"),
    [({}, np.zeros((2, 2)), 1.0), ({"prior_variance": -1}, None, 1.0), ({}, None, -1.0)],
)
def test_bad_arguments_are_refused(settings, shares, variance):
    X, good, _ = noisy_shares(2, 0.1)
    with pytest.raises(InvalidArgument):
        NoiseAwareStudent(**settings).fit_shares(
            X, good if shares is None else shares, variance=variance, classes=[0, 1]
        )
