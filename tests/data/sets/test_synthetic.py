"""The best possible error is what it is said to be."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from tacit.data.sets.synthetic import (
    CURVED,
    LogisticModel,
    best_logistic_error,
    draw_curved,
)
from tacit.errors import InvalidArgument


@pytest.mark.parametrize("strength", [0.01, 1.0, 4.0, 50.0, 1e4])
def test_the_best_error_is_exact(strength: float) -> None:
    def wrong(z: mpmath.mpf) -> mpmath.mpf:
        return 2 * mpmath.npdf(z) / (1 + mpmath.exp(strength * z))

    edges = [0, 1 / strength, 5 / strength, 50 / strength, 1, 5, 40]
    exact = mpmath.quad(wrong, sorted({edge for edge in edges if edge <= 40}))
    assert best_logistic_error(strength) == pytest.approx(float(exact), rel=1e-9)


def test_the_best_classifier_has_that_error() -> None:
    """400,000 draws: five standard errors are below 0.003; false alarm below 1e-6."""
    model = LogisticModel(n_features=3, strength=4.0, rng=np.random.default_rng(0))
    features, labels = model.draw(400_000, np.random.default_rng(1))
    error, best = np.mean(model.best_predict(features) != labels), best_logistic_error(4.0)
    assert abs(error - best) < 0.003
    expected = model.accuracy(features, model.best_predict(features))
    assert abs(expected - (1 - best)) < 0.002
    assert model.accuracy(features, 1 - model.best_predict(features)) < 0.5


def test_draws_repeat_with_their_generator() -> None:
    model = LogisticModel(rng=np.random.default_rng(0))
    one, two = (model.draw(20, np.random.default_rng(7)) for _ in range(2))
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(one[1], two[1])


def test_bad_settings_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="`strength`"):
        LogisticModel(strength=0.0, rng=np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="`rng`"):
        LogisticModel(rng=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CURVED)
def test_curved_records_are_shuffled_repeatable_and_of_classes_alike(name: str) -> None:
    data, again = draw_curved(name, 1000, seed=3), draw_curved(name, 1000, seed=3)
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.y, again.y)
    for part in (data.y[:500], data.y[500:]):  # 500 draws: eight deviations, below 1e-13
        shares = np.bincount(part) / len(part)
        assert np.abs(shares - 1 / len(shares)).max() < 8 * np.sqrt(0.25 / len(part))
