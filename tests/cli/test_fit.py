"""``tacit init``, ``datasets``, ``fit``, ``label`` and ``predict``, from files to files."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import pytest

from tacit.cli.main import BAD_INPUT, NOT_RELEASED
from tacit.data.tables.files import WELL_FORMED
from tacit.persistence import load_student
from tacit.report import RunReport

pytestmark = pytest.mark.needs("pandas")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_from_two_files_to_a_model_a_report_and_predictions(desk) -> None:
    folder = desk.folder
    done = desk.fit(report=folder / "report.json", labels=folder / "labels.csv")
    assert done.exit_code == 0, done.output
    assert "this run         epsilon 1, delta 1e-05" in done.stderr
    assert "Privacy statement: (" in done.stdout and "Left for 'patients': epsilon 2" in done.stdout
    model = load_student(folder / "model.tacit")
    report = RunReport.from_json((folder / "report.json").read_text())
    assert report.statement == model.privacy_ and report.statement.secure
    assert report.command == (
        "tacit fit PRIVATE --public pool.csv --dataset patients --epsilon 1.0 --delta 1e-05 "
        "--label ill --classes no,yes --n-teachers 20 --learner tree"
    )
    assert len(rows(folder / "labels.csv")) == report.asked
    told = desk(
        "predict", folder / "model.tacit", folder / "patients.csv", "--proba",
        "--out", folder / "predicted.csv",
    )  # fmt: skip
    assert told.exit_code == 0, told.output
    predicted, true = rows(folder / "predicted.csv"), rows(folder / "patients.csv")
    # Twenty teachers at epsilon 1: how good the model is depends on the noise, so it is not asked.
    assert len(predicted) == len(true) and {row["label"] for row in predicted} <= {"no", "yes"}
    assert set(predicted[0]) == {"label", "p_no", "p_yes"}
    assert not list((folder / ".tacit" / "runs").glob("*.run"))


def test_a_second_fit_adds_up_and_says_so_and_a_fourth_is_refused(desk) -> None:
    assert desk.fit().exit_code == 0
    again = desk.fit("--json")
    assert "reserved so far  epsilon 1," in again.stderr
    told = json.loads(again.stdout)
    assert told["account"]["reserved"]["epsilon"] == pytest.approx(2.0, rel=1e-3)
    assert told["resumed"] is False
    before = (desk.folder / "model.tacit").read_bytes()
    refused = desk.fit(epsilon=1.5)
    assert refused.exit_code == NOT_RELEASED and "Nothing was opened or spent" in refused.stderr
    assert (desk.folder / "model.tacit").read_bytes() == before
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["remaining"]["epsilon"] == pytest.approx(1.0, rel=1e-3)
    assert "patients" in desk("datasets", "--project", desk.folder).stdout


def test_labels_are_released_as_a_file_with_the_statement_beside_it(desk) -> None:
    done = desk(*desk.words("label"))
    assert done.exit_code == 0, done.output
    found = rows(desk.folder / "labels.csv")
    assert [int(row["row"]) for row in found] == sorted({int(row["row"]) for row in found})
    assert {row["label"] for row in found} == {"no", "yes"}
    beside = (desk.folder / "labels.csv.report.json").read_text()
    assert RunReport.from_json(beside).statement.questions == len(found)
    shares = desk(*desk.words("label", "--json", release="share", n_questions=10, group="person"))
    assert shares.exit_code == 0, shares.output
    assert set(rows(desk.folder / "labels.csv")[0]) == {"row", "label", "share_no", "share_yes"}
    assert json.loads(shares.stdout)["privacy"]["unit"] == "person"


def test_a_dry_run_prices_without_opening_private_data(desk) -> None:
    words = desk.words("fit", "--dry-run", private=None, n=6000, n_teachers=None)
    told = desk(*words)
    assert told.exit_code == 0, told.output
    assert "private data were not opened" in told.stdout and "n_teachers = " in told.stdout
    assert json.loads(desk(*words, "--json").stdout)["cost"]["epsilon"] == pytest.approx(1, 1e-3)
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["reserved"]["epsilon"] == 0
    assert desk(*words, "--epsilon", 9).exit_code == NOT_RELEASED
    assert desk(*desk.words("fit", "--dry-run", private=None)).exit_code == BAD_INPUT


def test_without_a_terminal_somebody_must_have_agreed(desk) -> None:
    words = [word for word in desk.words() if word != "--yes"]
    refused = desk(*words)
    assert refused.exit_code == BAD_INPUT and "add --yes" in refused.stderr
    assert not (desk.folder / "model.tacit").exists()
    assert not list((desk.folder / ".tacit" / "runs").glob("*.run"))


def test_on_a_terminal_it_asks(desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.cli import private_run

    monkeypatch.setattr(private_run, "_is_interactive", lambda: True)
    words = [word for word in desk.words() if word != "--yes"]
    refused = desk(*words, input="n\n")
    assert refused.exit_code == 1 and "Spend it?" in refused.stderr
    assert not list((desk.folder / ".tacit" / "runs").glob("*.run"))
    assert desk(*words, input="y\n").exit_code == 0


def test_options_come_from_files_too_and_flags_win(desk) -> None:
    folder = desk.folder
    settings = f"""
[fit]
private = "{folder}/patients.csv"
public = "{folder}/pool.csv"
label = "ill"
classes = ["no", "yes"]
dataset = "patients"
epsilon = 0.5
delta = 1e-5
n-teachers = 20
learner = "tree"
param = {{max_depth = 2}}
out = "{folder}/model.tacit"
json = true
"""
    config = desk.put("run.toml", settings)
    done = desk("fit", "--project", folder, "--config", config, "--epsilon", 1, "--yes")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["privacy"]["epsilon"] == pytest.approx(1, rel=1e-3)
    desk.put("tacit.toml", "format = 1\n" + settings)
    done = desk("fit", "--project", folder, "--yes")
    assert json.loads(done.stdout)["privacy"]["epsilon"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "is not TOML"),
        ("[fit]\nepsilonn = 1", "no option 'epsilonn'"),
        ("[fit]\nepsilon = [1]", "must be one value"),
        ("[fit]\nquiet = 3", "must be true or false"),
        ("[fit]\nyes = true", "no option 'yes'"),
        ('[fit]\nepsilon = "much"', "not a valid float"),
    ],
)
def test_odd_configurations_are_refused(desk, text: str, message: str) -> None:
    result = desk.fit("--config", desk.put("run.toml", text), epsilon=None)
    assert result.exit_code == BAD_INPUT and message in result.stderr
    assert len(result.stderr.strip().splitlines()) <= 4


@pytest.mark.parametrize("learner", ["logistic", "boosting", "tree"])
def test_a_table_of_numbers_alone(desk, learner: str) -> None:
    import pandas as pd

    done = desk.fit("--drop", "sex", learner=learner)
    assert done.exit_code == 0, done.output
    model = load_student(desk.folder / "model.tacit")
    assert set(model.predict(pd.DataFrame({"age": [85.0, 20.0]}))) <= {"no", "yes"}


def test_libsvm_and_parquet_files(desk) -> None:
    import pandas as pd

    frame = pd.read_csv(desk.folder / "patients.csv")
    frame.to_parquet(desk.folder / "patients.parquet")
    assert desk.fit(private=desk.folder / "patients.parquet").exit_code == 0

    def line(row: object) -> str:
        return f"{int(row.ill == 'yes')} 1:{row.age} 2:{int(row.sex == 'm')}"  # type: ignore

    lines = [line(row) for row in frame.itertuples()]
    private = desk.put("x.svm", "\n".join(lines[:500]) + "\n")
    pool = desk.put("pool.svm", "\n".join(lines[500:]) + "\n")
    done = desk.fit(private=private, public=pool, label=None, classes="0,1")
    assert done.exit_code == 0, done.output
    predicted = desk("predict", desk.folder / "model.tacit", pool)
    assert "label" in predicted.stdout and set(predicted.stdout.split()) <= {"label", "0", "1"}


def test_a_project_is_closed_to_others_and_made_once(tmp_path: Path, desk) -> None:
    place = tmp_path / "new"
    assert desk("init", place).exit_code == 0
    for folder in (place, place / ".tacit"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    again = desk("init", place)
    assert again.exit_code == BAD_INPUT and "project already" in again.stderr
    assert "No data set yet" in desk("datasets", "--project", place).stdout
    added = desk("datasets", "add", "x", "--epsilon", 1, "--delta", "1e-6", "--project", place)
    assert added.exit_code == 0
    assert desk("datasets", "discard", "x", "--project", place).stdout.startswith("Removed 0")


@pytest.mark.parametrize(
    "words",
    [
        ("--dataset", "x"),
        ("--epsilon", "1"),
        ("--dataset", "../x", "--epsilon", "1", "--delta", "1e-5"),
        ("--dataset", "x", "--epsilon", "-1", "--delta", "1e-5"),
    ],
)
def test_a_bad_first_data_set_makes_no_project(tmp_path: Path, desk, words) -> None:
    result = desk("init", tmp_path / "new", *words)
    assert result.exit_code == BAD_INPUT and not (tmp_path / "new").exists()


@pytest.mark.parametrize("verb", ["init", "datasets", "fit", "label", "predict"])
def test_help_teaches_with_an_example(desk, verb: str) -> None:
    assert f"tacit {verb}" in desk(verb, "--help").stdout.partition("Example")[2]


def test_an_unclosed_quote_of_a_private_file_changes_one_record(desk) -> None:
    """The records after it used to become part of its cell, and too few were left to shard."""
    rows = (desk.folder / "patients.csv").read_text().splitlines()
    desk.put("patients.csv", "\n".join([*rows[:20], 'p20,50,"f,yes', *rows[21:]]) + "\n")
    result = desk.fit("--json", n_teachers=300)
    assert result.exit_code == 0, result.output


def test_quoted_line_breaks_are_in_the_statement(desk) -> None:
    rows = (desk.folder / "patients.csv").read_text().splitlines()
    desk.put("patients.csv", "\n".join([*rows[:20], 'p20,50,"f\n",yes', *rows[21:]]) + "\n")
    plain = json.loads(desk.fit("--json", epsilon=0.5).stdout)["privacy"]["assumptions"]
    allowed = json.loads(desk.fit("--json", "--quoted-newlines", epsilon=0.5).stdout)
    assert allowed["privacy"]["assumptions"] == [*plain, WELL_FORMED]
