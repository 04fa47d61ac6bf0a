"""Corrections on shards in files: what the same shards in memory give, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tacit import Corrections, PATEClassifier
from tacit.audit import SeededNoise
from tacit.data.shards import ShardFolder, write_shards
from tacit.errors import WorkersFailed
from tacit.noise import NoiseSource

pytestmark = pytest.mark.needs("pandas")

ENCODED = make_column_transformer(
    (OneHotEncoder(categories=[["high", "low"]], sparse_output=False), ["c"]),
    remainder="passthrough",
)
N_SHARDS = 24
KEY = b"sixteen or more bytes"


class Seeded(PATEClassifier):
    """With predictable noise, to compare fits."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


class OneKey(Seeded):
    """Assigns people to shards with the key of the folder."""

    def _resolve(self, *given: Any) -> Any:
        *public, _, assumptions = given
        # The key is drawn from a source of its own: the noise is that of a fit that draws none.
        settings, records = super()._resolve(*public, SeededNoise(1), assumptions)
        return settings, replace(records, assignment=replace(records.assignment, hash_key=KEY))


def frame(words: bool, n: int = 3000) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    table["y"] = np.where(table["a"] + table["b"] > 0, "yes", "no")
    if words:
        table["c"] = np.where(table["c"] > 0, "high", "low")
    return table.assign(person=rng.integers(n // 2, size=n))


def pool(words: bool) -> Any:
    points = frame(words, 3200).iloc[3000:][["a", "b", "c"]]
    return points.reset_index(drop=True) if words else points.to_numpy()


def written(place: Path, words: bool) -> ShardFolder:
    table = frame(words)
    table.to_parquet(place / "records.parquet")
    schema = None
    if words:
        from tacit.data import Schema

        schema = Schema.infer(pool(words))
    return write_shards(
        [place / "records.parquet"], place / "shards",
        n_shards=N_SHARDS, identifier="person", label="y", key=KEY, schema=schema,
    )  # fmt: skip


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> ShardFolder:
    return written(tmp_path_factory.mktemp("records"), words=False)


def made(kind: type[PATEClassifier] = Seeded, learner: Any = None, **changed: Any) -> Any:
    settings: dict[str, Any] = {
        "epsilon": 20.0, "delta": 1e-6, "classes": ["no", "yes"], "neighbouring": "add-remove",
        "random_state": 0, "method": Corrections(rounds=3, shard_size=100),
    } | changed  # fmt: skip
    return kind(learner, **settings)


def in_memory(words: bool, learner: Any = None, **changed: Any) -> Any:
    known = frame(words)
    X = known[["a", "b", "c"]]
    clf = made(OneKey, learner, n_teachers=N_SHARDS, **changed)
    return clf.fit(
        X if words else X.to_numpy(), known["y"], X_public=pool(words), groups=known["person"]
    )


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (None, False),
        (None, True),
        (LogisticRegression(), False),
        (make_pipeline(ENCODED, GaussianNB()), True),
    ],
    ids=["built-in", "built-in, words", "linear", "pipeline, words"],
)
def test_the_student_is_that_of_the_same_shards_in_memory(
    tmp_path: Path, learner: Any, words: bool
) -> None:
    known = in_memory(words, learner)
    clf = made(Seeded, learner).fit(written(tmp_path, words), X_public=pool(words))
    points = pool(words)
    np.testing.assert_allclose(
        clf.predict_proba(points), known.predict_proba(points), rtol=0, atol=1e-9
    )
    assert np.array_equal(clf.released_.corrections, known.released_.corrections)
    assert clf.score(points, frame(words, 3200)["y"].iloc[3000:]) > 0.9
    assert clf.resolved_params_["n_teachers"] == N_SHARDS
    assert clf.privacy_.unit == "person"


def test_no_record_is_read_by_the_calling_process_with_workers(
    shards: ShardFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = made().fit(shards, X_public=pool(False))

    def read(*args: Any) -> None:
        raise AssertionError("read in the calling process")

    monkeypatch.setattr(ShardFolder, "read", read)
    clf = made(n_jobs=2).fit(shards, X_public=pool(False))
    assert np.array_equal(clf.released_.corrections, alone.released_.corrections)


def test_the_default_corrects_on_shards(shards: ShardFolder) -> None:
    clf = made(method="auto", epsilon=5.0).fit(shards, X_public=pool(False))
    assert clf.resolved_params_["method"] == "Corrections"
    assert clf.score(pool(False), frame(False, 3200)["y"].iloc[3000:]) > 0.85


class Unreadable(ShardFolder):
    """Shards of which some can be read by nobody."""

    def __init__(self, shards: ShardFolder, numbers: list[int]) -> None:
        super().__init__(shards.path, shards.sharding)
        self.numbers = numbers

    def read(self, number: int) -> Any:
        if number in self.numbers:
            raise OSError("Input/output error")
        return super().read(number)


class Without(ShardFolder):
    """Shards of which some hold no records."""

    def __init__(self, shards: ShardFolder, numbers: list[int]) -> None:
        super().__init__(shards.path, shards.sharding)
        self.numbers = numbers

    def read(self, number: int) -> Any:
        X, y = super().read(number)
        return (X[:0], y[:0]) if number in self.numbers else (X, y)


@pytest.mark.parametrize("learner", [None, LogisticRegression()], ids=repr)
def test_a_shard_that_nobody_can_read_contributes_nothing(
    shards: ShardFolder, learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.teachers.workers.executor.PAUSE_AFTER_UNREAD", 0.0)
    empty = made(Seeded, learner).fit(Without(shards, [2, 7]), X_public=pool(False))
    with pytest.warns(UserWarning, match="2 of 24 shards .* contribute nothing"):
        clf = made(Seeded, learner).fit(Unreadable(shards, [2, 7]), X_public=pool(False))
    assert np.array_equal(clf.released_.corrections, empty.released_.corrections)
    ledgerless = made(Seeded, learner)
    with pytest.raises(WorkersFailed, match="None of 24 shards"):
        ledgerless.fit(Unreadable(shards, list(range(N_SHARDS))), X_public=pool(False))
    assert not hasattr(ledgerless, "released_")
