"""A fit on shards in files: what a fit on the same shards in memory finds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tacit import PATEClassifier, Votes
from tacit.accounting.budget import Neighbouring
from tacit.data.shards import ShardFolder, write_shards
from tacit.errors import InvalidArgument
from tacit.estimators.inputs import identifiers
from tacit.ledger import MemoryLedger
from tacit.teachers import hash_split
from tacit.teachers.on_shards import count_on_shards
from tacit.teachers.partition import shard_positions
from tacit.teachers.train import train_and_count

pytestmark = pytest.mark.needs("pandas")

N_SHARDS = 60
KEY = b"sixteen or more bytes"


def frame(n: int = 3000) -> Any:
    import pandas as pd

    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    found["y"] = np.where(found["a"] + found["b"] > 0, "yes", "no")
    return found.assign(person=rng.integers(n // 2, size=n))


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> ShardFolder:
    place = tmp_path_factory.mktemp("records")
    frame().to_parquet(place / "records.parquet")
    return write_shards(
        [place / "records.parquet"], place / "shards",
        n_shards=N_SHARDS, identifier="person", label="y", key=KEY,
    )  # fmt: skip


@pytest.fixture(scope="module")
def pool() -> Any:
    return np.random.default_rng(1).normal(size=(80, 3))


def made(**changed: Any) -> PATEClassifier:
    settings: dict[str, Any] = {
        "epsilon": 50.0, "delta": 1e-6, "classes": ["no", "yes"], "neighbouring": "add-remove",
        "random_state": 0, "method": Votes(),
    } | changed  # fmt: skip
    return PATEClassifier(settings.pop("learner", LogisticRegression()), **settings)


def test_a_fit_needs_no_record_in_this_process(shards: ShardFolder, pool: Any) -> None:
    clf = made().fit(shards, X_public=pool)
    known = frame()
    assert clf.score(known[["a", "b", "c"]].to_numpy(), known["y"]) > 0.9
    assert clf.privacy_.neighbouring is Neighbouring.ADD_REMOVE
    assert clf.privacy_.unit == "person"
    assert clf.resolved_params_["n_teachers"] == N_SHARDS
    assert pickle.loads(pickle.dumps(clf)).predict(pool).shape == (80,)


def test_counts_are_those_of_the_same_shards_in_memory(shards: ShardFolder, pool: Any) -> None:
    known = frame()
    names = identifiers(known["person"], len(known)) or []
    split = shard_positions(hash_split(names, N_SHARDS, KEY), N_SHARDS)
    X, y = known[["a", "b", "c"]].to_numpy(), known["y"].to_numpy()
    how: dict[str, Any] = {"classes": ["no", "yes"], "seed": 5}
    for learner in (LogisticRegression(), DecisionTreeClassifier()):
        wanted = train_and_count(learner, X, y, split, pool, **how)
        found = count_on_shards(learner, shards, pool, **how)
        np.testing.assert_array_equal(found.private_array(), wanted.private_array())


@pytest.mark.parametrize("representation", ["auto", None])
@pytest.mark.parametrize("framed", [False, True])
def test_pools_with_and_without_names_serve(
    shards: ShardFolder, pool: Any, representation: Any, framed: bool
) -> None:
    import pandas as pd

    points = pd.DataFrame(pool, columns=["a", "b", "c"]) if framed else pool
    clf = made(representation=representation).fit(shards, X_public=points)
    assert len(set(clf.predict(points))) == 2


@pytest.mark.parametrize(
    ("changed", "given", "told"),
    [
        ({"neighbouring": "replace"}, {}, "'hash' goes with 'add-remove'"),
        ({"n_teachers": 59}, {}, '`n_teachers` must be "auto" or 60'),
        ({"classes": None}, {}, "`classes` must list the possible labels"),
        ({"protect": "labels"}, {}, "add-remove"),
        ({}, {"y": ["no"]}, "`y` must be left out with shards"),
        ({}, {"groups": [1]}, "`groups` must be left out with shards"),
        ({}, {"X_public": None}, "`X_public` must be given"),
        ({}, {"X_public": np.zeros((9, 4))}, "must have 3 columns, like the shards, got 4"),
    ],
)
def test_what_does_not_go_with_shards_is_refused_before_anything_is_spent(
    shards: ShardFolder, pool: Any, changed: dict[str, Any], given: dict[str, Any], told: str
) -> None:
    from tacit import Budget

    ledger = MemoryLedger(Budget(100.0, 1e-5))
    with pytest.raises(InvalidArgument, match=told):
        made(ledger=ledger, **changed).fit(shards, **{"X_public": pool} | given)
    assert ledger.reserved().epsilon == 0


def test_other_columns_are_refused_by_name(shards: ShardFolder, pool: Any) -> None:
    import pandas as pd

    with pytest.raises(InvalidArgument, match="Missing: 'c'"):
        made().fit(shards, X_public=pd.DataFrame(pool, columns=["a", "b", "d"]))


def test_shards_changed_meanwhile_are_not_read(
    shards: ShardFolder, pool: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.errors import WorkersFailed

    monkeypatch.setattr("tacit.teachers.workers.executor.PAUSE_AFTER_UNREAD", 0.0)
    frame(300).to_parquet(tmp_path / "records.parquet")
    opened = write_shards([tmp_path / "records.parquet"], tmp_path / "shards",
                          n_shards=8, identifier="person", label="y")  # fmt: skip
    write_shards([tmp_path / "records.parquet"], tmp_path / "shards", fresh=True,
                 n_shards=9, identifier="person", label="y")  # fmt: skip
    with pytest.raises(WorkersFailed, match="None of 8 shards"):
        made().fit(opened, X_public=pool)
