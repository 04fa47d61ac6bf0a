"""``tacit report``: from JSON or a saved student to text, JSON or a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier, Votes, save_student
from tacit.cli.main import BAD_INPUT, cli


@pytest.fixture(scope="module")
def files(tmp_path_factory: Any) -> tuple[Path, Path, Any]:
    """Return a report in JSON, a saved student, and the classifier they came from."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    clf = PATEClassifier(LogisticRegression(), classes=[0, 1], epsilon=3.0, method=Votes())
    clf = clf.fit(X, (X[:, 0] > 0).astype(int), X_public=rng.normal(size=(30, 2)))
    clf.report().save_json(folder / "report.json")
    save_student(clf, folder / "model.tacit")
    return folder / "report.json", folder / "model.tacit", clf


def run(*arguments: Any) -> Result:
    return CliRunner().invoke(cli, ["report", *map(str, arguments)])


def test_both_kinds_of_file_give_the_same_text(files: Any) -> None:
    report, model, clf = files
    assert run(report).stdout == run(model).stdout == f"{clf.report()}\n"


def test_json_is_for_programs(files: Any) -> None:
    assert json.loads(run(files[1], "--json").stdout)["asked"] == files[2].report().asked


def test_the_page_is_written(files: Any, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    result = run(files[0], "--html", target)
    assert (result.exit_code, result.stdout) == (0, f"Written to {str(target)!r}.\n")
    assert target.read_text() == files[2].report().to_html()
    both = run(files[0], "--html", target, "--json")
    assert json.loads(both.stdout)["refused"] == 0


def test_the_page_does_not_replace_what_it_is_made_of(files: Any) -> None:
    before = files[0].read_bytes()
    assert run(files[0], "--html", files[0]).exit_code == 2
    assert files[0].read_bytes() == before


def test_a_frontier_is_drawn(files: Any, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    line = [{"predicted": {"value": 0.7}}, {"predicted": {"value": 0.9}}]
    drawn = {"delta": 1e-5, "baseline": 0.5, "epsilons": [1, 4], "lines": {"gaussian": line}}
    plan.write_text(json.dumps({"works": True, "frontier": drawn}))
    assert run(files[0], "--html", tmp_path / "a.html", "--frontier", plan).exit_code == 0
    assert "this run" in (tmp_path / "a.html").read_text()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "neither a report in JSON nor a saved student"),
        (b"\xff\xfe", "neither a report in JSON nor a saved student"),
        (b'{"format_version": 7}', "format 7"),
        (b'{"format_version": 1}', "`epsilon` is missing or garbled"),
        (b"tacit-student format=1", "was not saved by tacit"),
        (None, "There is no file"),
    ],
)
def test_bad_files_end_in_one_line(content: Any, words: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "page.html"
    target.write_text("old")
    if content is not None:
        source.write_bytes(content)
    result = run(source, "--html", target)
    assert result.exit_code == BAD_INPUT
    assert words in result.stderr and result.stderr.count("\n") == 1
    assert target.read_text() == "old"


def test_bad_plans_and_places_end_in_one_line(files: Any, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{")
    for arguments in (
        ["--html", tmp_path / "nowhere" / "page.html"],
        ["--html", tmp_path / "page.html", "--frontier", tmp_path / "plan.json"],
        ["--html", tmp_path / "page.html", "--frontier", tmp_path / "none.json"],
        ["--html", tmp_path / "page.html", "--frontier", files[0]],
    ):
        result = run(files[0], *arguments)
        assert result.exit_code == BAD_INPUT and result.stderr.startswith("Error: ")
    assert run(files[0], "--frontier", tmp_path / "plan.json").exit_code == BAD_INPUT
    assert run(tmp_path).exit_code == BAD_INPUT
    assert not (tmp_path / "page.html").exists()


def test_names_in_a_file_cannot_steer_the_terminal(files: Any, tmp_path: Path) -> None:
    fields = json.loads(files[0].read_text())
    fields["released"] = {"\x1b[2J\ud800": 3}
    (tmp_path / "report.json").write_text(json.dumps(fields))
    result = run(tmp_path / "report.json")
    assert result.exit_code == 0 and "\x1b" not in result.stdout
