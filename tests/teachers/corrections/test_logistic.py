"""Built-in teachers: the right optimum, from their own shard alone, and no word about failures."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

from tacit.teachers.corrections import LogisticCorrections
from tacit.teachers.corrections.coordinates import contrasts, with_constant
from tacit.teachers.corrections.logistic import LogisticTask, _dual, _primal
from tacit.teachers.corrections.records import RecordsInMemory
from tacit.teachers.partition import hash_split, shard_positions
from tacit.teachers.represented import RepresentedRows


def made(
    setting: Any, X: Any, y: Any, shards: Any, size: int = 4, **settings: Any
) -> LogisticCorrections:
    records = RecordsInMemory(X, y, shards, setting.coordinates, **settings)
    return LogisticCorrections(records, setting.pool, n_classes=setting.n_classes, shard_size=size)


def rows_of(teachers: Any, setting: Any, shards: Any) -> np.ndarray:
    """Return contributions in the order of teachers: the blocks come by padded size."""
    found = np.concatenate(list(teachers.contributions(setting.metric)))
    assert len(found) == len(shards)
    placed = np.empty_like(found)
    placed[[number for stack in teachers._stacks for number in stack.numbers]] = found
    return placed


def optimum(setting: Any, rows: Any, labels: Any) -> np.ndarray:
    """Return the whitened minimum of the penalised softmax loss of one shard, by scipy."""
    metric, basis = setting.metric, contrasts(setting.n_classes)
    shape = metric.weights.shape
    known = labels >= 0
    rows, labels = rows[known], labels[known]

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        moved = flat.reshape(shape)  # whitened: weights = student + A^-1/2 moved
        scores = rows @ (metric.weights + metric.whiten @ moved) @ basis.T
        log_proba = special.log_softmax(scores, axis=1)
        miss = np.exp(log_proba)
        miss[np.arange(len(labels)), labels] -= 1
        value = 0.5 * (flat**2).sum() - log_proba[np.arange(len(labels)), labels].sum()
        return value, flat + (metric.whiten @ rows.T @ miss @ basis).ravel()

    return optimize.minimize(
        loss, np.zeros(np.prod(shape)), jac=True, method="BFGS", options={"gtol": 1e-9}
    ).x


def records(setting: Any, sizes: list[int], seed: int = 1) -> tuple[Any, Any, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    X = rng.normal(size=(n, setting.points.shape[1]))
    y = rng.integers(-1, setting.n_classes, n)  # -1: a label that is no class
    cuts = np.cumsum(sizes)[:-1]
    return X, y, np.split(rng.permutation(n), cuts)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_teachers_are_at_the_minimum_of_their_loss(make_setting, n_classes, together):
    setting = make_setting(n_classes)
    sizes = [1, 2, 2, 5, 0, 8, 11, 16, 23]
    X, y, shards = records(setting, sizes)
    teachers = made(setting, X, y, shards, together=together)
    found = rows_of(teachers, setting, shards)
    assert found.shape == (len(sizes), setting.metric.weights.size)
    for row, shard in zip(found, shards, strict=True):
        in_coordinates = with_constant(setting.coordinates.transform(X[shard]))
        best = optimum(setting, in_coordinates, y[shard])
        np.testing.assert_allclose(row, best, atol=2e-4, rtol=1e-3)


def test_shards_without_a_known_label_contribute_nothing(make_setting):
    setting = make_setting(3)
    X, y, shards = records(setting, [0, 3, 4])
    y[shards[1]] = -1
    found = rows_of(made(setting, X, y, shards), setting, shards)
    assert not found[:2].any()
    assert found[2].any() == (y[shards[2]] >= 0).any()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("sizes", [[5] * 13 + [4] * 8, [13] * 4 + [12] * 3], ids=["few", "many"])
def test_a_replaced_record_changes_one_row_and_no_bit_of_another(
    make_setting, n_classes, together, sizes
):
    setting = make_setting(n_classes, width=9)
    X, y, shards = records(setting, sizes)
    first = rows_of(made(setting, X, y, shards, together=together), setting, shards)
    rng = np.random.default_rng(3)
    for victim in rng.integers(len(X), size=12):
        there, label = X.copy(), y.copy()
        there[victim] = rng.choice([1e300, -7.0, np.nan, 0.0, np.inf], size=X.shape[1])
        label[victim] = rng.integers(-1, n_classes)
        second = rows_of(made(setting, there, label, shards, together=together), setting, shards)
        owner = next(k for k, shard in enumerate(shards) if victim in shard)
        same = [k for k in range(len(shards)) if k != owner]
        assert first[same].tobytes() == second[same].tobytes()


def test_a_record_added_elsewhere_changes_no_bit(make_setting):
    setting = make_setting(3, width=9)
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(150, 9)), rng.integers(0, 3, 150)
    names, key, n_teachers = list(range(150)), b"k" * 32, 17

    def contributions(kept: Any) -> tuple[np.ndarray, np.ndarray]:
        where = hash_split([names[k] for k in kept], n_teachers, key)
        shards = shard_positions(where, n_teachers)
        teachers = made(setting, X[kept], y[kept], shards)
        return rows_of(teachers, setting, shards), where

    everybody = np.arange(150)
    first, where = contributions(everybody)
    for gone in rng.integers(150, size=20):
        second, _ = contributions(np.delete(everybody, gone))
        same = np.arange(n_teachers) != where[gone]
        assert first[same].tobytes() == second[same].tobytes()


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_records_and_coordinates_as_unknowns_take_the_same_steps(make_setting, n_classes):
    setting = make_setting(n_classes)
    rng = np.random.default_rng(6)
    features = rng.normal(scale=2.0, size=(4, 7, 5))
    whitened = features @ setting.metric.whiten
    start = features @ setting.metric.weights
    target = (rng.integers(n_classes, size=(4, 7, 1)) == np.arange(n_classes)).astype(float)
    found = [solve(whitened, start, target, n_classes) for solve in (_dual, _primal)]
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [4, 150])
def test_imagined_teachers_are_worked_on_in_blocks(make_setting, monkeypatch, size):
    setting = make_setting(2)
    teachers = made(setting, *records(setting, [5] * 4), size=size)
    first = teachers.imagined(setting.metric, np.random.default_rng(0))
    assert len(first) == {4: 400, 150: 266}[size]
    seen = []
    whole = LogisticTask.corrections

    def counted(self: Any, features: Any, *rest: Any) -> Any:
        seen.append(features.size)
        return whole(self, features, *rest)

    monkeypatch.setattr(LogisticTask, "corrections", counted)
    monkeypatch.setattr("tacit.teachers.corrections.logistic._BLOCK", 2**11)
    second = teachers.imagined(setting.metric, np.random.default_rng(0))
    assert len(seen) > 3 and max(seen) <= 2**11
    assert second.tobytes() == first.tobytes()


@pytest.mark.parametrize("size", [5, 24])
def test_blocks_do_not_change_a_bit(make_setting, monkeypatch, size):
    setting = make_setting(3, width=9)
    X, y, shards = records(setting, [size] * 40)
    first = rows_of(made(setting, X, y, shards), setting, shards)
    monkeypatch.setattr("tacit.teachers.corrections.logistic._BLOCK", 2**8)
    teachers = made(setting, X, y, shards)
    assert len(list(teachers.contributions(setting.metric))) > 10
    assert rows_of(teachers, setting, shards).tobytes() == first.tobytes()


class Refuses:
    """A representation that will not have some values."""

    def __init__(self, error: type[BaseException] = ValueError) -> None:
        self._error = error

    def transform(self, X: Any) -> Any:
        if not np.isfinite(X).all():
            raise self._error("secret 4711")
        print("secret 4711")
        warnings.warn("secret 4711", stacklevel=1)
        return X


class KeepsTexts:
    """A representation whose numbers are texts, some of which are none."""

    def transform(self, X: Any) -> Any:
        return np.where(np.isfinite(X), X.astype(str), "secret 4711").astype(object)


@pytest.mark.parametrize(
    "representation",
    [Refuses(), Refuses(BaseException), KeepsTexts()],
    ids=["raises", "no exception", "texts"],
)
def test_records_that_cannot_be_used_count_as_none_and_nothing_is_said(
    make_setting, capfd, representation
):
    setting = make_setting(2)
    X, y, shards = records(setting, [4] * 6)
    X[shards[2][0]] = np.nan
    X[shards[3][1]] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = RepresentedRows(X, representation, setting.points)
        found = rows_of(made(setting, rows, y, shards), setting, shards)
        bare = rows_of(made(setting, X, y, shards), setting, shards)
    assert np.isfinite(found).all()
    assert np.isfinite(bare).all()
    others = [0, 1, 4, 5]
    assert found[others].tobytes() == bare[others].tobytes()
    assert capfd.readouterr() == ("", "")


def test_hard_shards_stay_finite(make_setting):
    setting = make_setting(3)
    # Equal points with opposite labels, far from where the student believes.
    X = np.repeat(100 * np.eye(4)[:1], 60, axis=0)
    y = np.arange(60) % 3
    metric = type(setting.metric).of(setting.pool, 50 * setting.metric.weights, 3)
    teachers = made(setting, X, y, [np.arange(30), np.arange(30, 60)])
    found = np.concatenate(list(teachers.contributions(metric)))
    assert np.isfinite(found).all()


def test_imagined_teachers_do_not_look_at_records(make_setting):
    setting = make_setting(3)
    found = []
    for seed in (1, 2):
        X, y, shards = records(setting, [4] * 6, seed=seed)
        teachers = made(setting, X, y, shards)
        found.append(teachers.imagined(setting.metric, np.random.default_rng(0)))
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0].shape[1] == setting.metric.weights.size


def test_nothing_private_is_shown(make_setting):
    setting = make_setting(2)
    X, y, shards = records(setting, [4] * 3)
    assert repr(made(setting, X, y, shards)) == (
        "LogisticCorrections(n_teachers=3, records=<private>)"
    )
