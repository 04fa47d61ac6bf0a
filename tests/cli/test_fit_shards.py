"""``tacit fit`` and ``tacit label`` on a folder of shards, and on votes counted elsewhere."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.accounting.budget import Neighbouring
from tacit.cli.main import BAD_INPUT
from tacit.data.shards import ShardFolder
from tacit.labeling.means import PlannedMeans
from tacit.persistence import load_student

pytestmark = pytest.mark.needs("pandas")

ADD_REMOVE = {"neighbouring": "add-remove", "n_teachers": None, "label": None}


@pytest.fixture
def sharded(desk: Any) -> Any:
    """The private records as twenty shards."""
    made = desk(
        "shard", desk.folder / "patients.csv", "--public", desk.folder / "pool.csv",
        "--out", desk.folder / "shards", "--shards", 20, "--id", "person", "--label", "ill",
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    return desk


def on_shards(desk: Any, verb: str, *more: object, **changed: object) -> Any:
    given = {"private": desk.folder / "shards", **ADD_REMOVE, **changed}
    return desk(*desk.words(verb, *more, **given))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_model_from_shards(sharded: Any) -> None:
    done = on_shards(sharded, "fit", "--json", learner="logistic")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["privacy"]
    assert (told["neighbouring"], told["unit"]) == ("add-remove", "person")
    model = load_student(sharded.folder / "model.tacit")
    assert model.privacy_.neighbouring is Neighbouring.ADD_REMOVE


@pytest.mark.parametrize("learner", ["built-in", "logistic"])
def test_corrections_on_shards_go_on_where_they_were_stopped(
    sharded: Any, monkeypatch: pytest.MonkeyPatch, learner: str
) -> None:
    how: dict[str, Any] = {"learner": learner, "rounds": 3, "shard_size": 30}
    how["method"] = "corrections"
    priced = on_shards(sharded, "fit", "--dry-run", "--json", **how)
    assert json.loads(priced.stdout)["settings"]["n_teachers"] == 20
    released: list[object] = []
    whole = PlannedMeans.release

    def third_is_interrupted(means: Any, *given: Any) -> Any:
        released.append(given)
        if len(released) == 3:
            raise KeyboardInterrupt
        return whole(means, *given)

    with monkeypatch.context() as stopped:
        stopped.setattr(PlannedMeans, "release", third_is_interrupted)
        assert on_shards(sharded, "fit", **how).exit_code == 130
    read, seen = ShardFolder.read, []

    def watched(shards: ShardFolder, number: int) -> Any:
        seen.append(number)
        return read(shards, number)

    monkeypatch.setattr(ShardFolder, "read", watched)
    done = on_shards(sharded, "fit", "--json", **how)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["resumed"] and told["privacy"]["questions"] == 3
    assert told["account"]["reserved"]["epsilon"] <= 1.0001
    assert sorted(seen) == list(range(20))  # the round that was missing, and no other


def test_labels_from_shards_are_those_of_the_records(sharded: Any) -> None:
    # Enough budget for twenty teachers to be heard above the noise.
    made = sharded("datasets", "add", "open", "--project", sharded.folder,
                   "--epsilon", 2000, "--delta", "1e-4")  # fmt: skip
    assert made.exit_code == 0, made.output
    done = on_shards(sharded, "label", dataset="open", epsilon=1000)
    assert done.exit_code == 0, done.output
    pool = rows(sharded.folder / "pool.csv")
    for row in rows(sharded.folder / "labels.csv"):
        point = pool[int(row["row"]) - 1]
        score = int(point["age"]) + 10 * (point["sex"] == "m") - 55
        assert abs(score) < 8 or row["label"] == ("yes" if score > 0 else "no")


def test_a_price_needs_no_number_of_records(sharded: Any) -> None:
    said = on_shards(sharded, "fit", "--dry-run")
    assert said.exit_code == 0, said.output
    assert "n_teachers = 20" in said.stdout and "private data were not opened" in said.stdout


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"neighbouring": "replace"}, "add --neighbouring add-remove"),
        ({"n_teachers": 21}, "20, the number of shards"),
        ({"label": "age"}, "--label must be left out, or 'ill'"),
        ({"group": "age"}, "--group must be left out, or 'person'"),
        ({"shard_size": 30}, "--shard-size is a setting of corrections"),
    ],
)
def test_what_does_not_go_with_shards_is_refused(
    sharded: Any, changed: dict[str, Any], told: str
) -> None:
    refused = on_shards(sharded, "fit", **changed)
    assert refused.exit_code == BAD_INPUT and told in refused.stderr
    account = json.loads(sharded("datasets", "--project", sharded.folder, "--json").stdout)[0]
    assert account["reserved"]["epsilon"] == 0


def test_an_interrupted_run_on_shards_trains_only_what_is_left(
    sharded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.ledger import SqliteLedger

    with monkeypatch.context() as stopped:

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        stopped.setattr(SqliteLedger, "open_plan", interrupted)
        assert on_shards(sharded, "fit").exit_code == 130
    trained: list[int] = []
    read = ShardFolder.read

    def watched(shards: ShardFolder, number: int) -> Any:
        trained.append(number)
        return read(shards, number)

    monkeypatch.setattr(ShardFolder, "read", watched)
    again = on_shards(sharded, "fit", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["resumed"] is True and trained == []


# ---- votes counted elsewhere ---------------------------------------------------------------------


def counts(desk: Any, **changed: Any) -> Path:
    pool = rows(desk.folder / "pool.csv")
    yes = np.array([95 if int(row["age"]) + 10 * (row["sex"] == "m") > 55 else 5 for row in pool])
    columns = {"row": range(1, 61), "votes:no": 100 - yes, "votes:yes": yes} | changed
    lines = [
        ",".join(columns),
        *(",".join(map(str, cells)) for cells in zip(*columns.values(), strict=True)),
    ]
    return desk.put("counts.csv", "\n".join(lines) + "\n")


def test_labels_and_a_model_from_counts(desk: Any) -> None:
    given = {"private": None, "counts": counts(desk), "n_teachers": 100, "label": None}
    labelled = desk(*desk.words("label", "--json", **given))
    assert labelled.exit_code == 0, labelled.output
    different = {tuple(row.values()) for row in rows(desk.folder / "pool.csv")}
    assert len(rows(desk.folder / "labels.csv")) == len(different)
    told = json.loads(labelled.stdout)["privacy"]
    assert any("counted elsewhere" in one for one in told["assumptions"])
    fitted = desk(*desk.words("fit", **given))
    assert fitted.exit_code == 0, fitted.output
    assert load_student(desk.folder / "model.tacit").privacy_.epsilon <= 1


def test_impossible_counts_are_refused_without_a_word_about_them(desk: Any) -> None:
    given = {"private": None, "n_teachers": 100, "label": None}
    bad = counts(desk, **{"votes:no": [7] * 60})
    refused = desk(*desk.words("label", **given, counts=bad))
    assert refused.exit_code == BAD_INPUT and "must sum to n_teachers=100" in refused.stderr
    missing = desk(*desk.words("label", **given | {"n_teachers": None}, counts=bad))
    assert missing.exit_code == BAD_INPUT and "--n-teachers must be the number" in missing.stderr
    both = desk(*desk.words("label", **given | {"private": bad}, counts=bad))
    assert both.exit_code == BAD_INPUT and "PRIVATE must be left out" in both.stderr
    assert not (desk.folder / "labels.csv").exists()
    account = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)[0]
    assert account["reserved"]["epsilon"] == 0
