"""An oracle whose teachers were trained on shards in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PrivateOracle
from tacit.data.shards import ShardFolder, write_shards
from tacit.errors import InvalidArgument
from tacit.persistence import load_oracle, save_oracle

pytestmark = pytest.mark.needs("pandas")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> ShardFolder:
    import pandas as pd

    place, rng = tmp_path_factory.mktemp("records"), np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    frame.assign(person=np.arange(4000) // 2).to_parquet(place / "records.parquet")
    return write_shards(
        [place / "records.parquet"], place / "shards", n_shards=200, identifier="person", label="y"
    )


@pytest.fixture(scope="module")
def points() -> Any:
    return np.random.default_rng(1).normal(size=(20, 2))


def made(**changed: Any) -> PrivateOracle:
    settings: dict[str, Any] = {
        "epsilon": 20.0, "delta": 1e-6, "classes": ["no", "yes"], "neighbouring": "add-remove",
        "n_questions": 50, "mechanism": "gaussian",
    } | changed  # fmt: skip
    return PrivateOracle(LogisticRegression(), **settings)


def test_it_answers_and_is_saved_like_any_other(
    shards: ShardFolder, points: Any, tmp_path: Path
) -> None:
    oracle = made().fit(shards, X_public=points)
    assert (oracle.privacy_.unit, oracle.terms_.settings["n_teachers"]) == ("person", 200)
    save_oracle(oracle, tmp_path / "oracle")
    saved = load_oracle(tmp_path / "oracle")
    assert saved.ask([[2.0, 1.5], [-1.5, -2.0]]).tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("changed", "given", "told"),
    [
        ({"neighbouring": "replace"}, {}, "'hash' goes with 'add-remove'"),
        ({"n_teachers": 100}, {}, '"auto" or 200'),
        ({"mechanism": "sparse", "cutoff": "estimate"}, {}, '"estimate" needs records in memory'),
        ({"classes": None}, {}, "`classes` must list the possible labels"),
        ({}, {"y": ["no"]}, "`y` must be left out with shards"),
        ({}, {"X_public": None}, "`X_public` must be given"),
        ({}, {"X_public": np.zeros((9, 3))}, "got 3"),
    ],
)
def test_what_does_not_go_with_shards_is_refused(
    shards: ShardFolder, points: Any, changed: dict[str, Any], given: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidArgument, match=told):
        made(**changed).fit(shards, **{"X_public": points} | given)
