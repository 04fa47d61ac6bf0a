"""``tacit plan``: a page to decide from, JSON, pictures, and plain words for bad input."""

from __future__ import annotations

import builtins
import json

import numpy as np
import pytest
from click.testing import CliRunner

from tacit.cli.main import cli

SIZES = ["plan", "--records", "20000", "--points", "120"]


def run(*arguments: str, status: int = 0):
    done = CliRunner().invoke(cli, list(arguments))
    assert done.exit_code == status, done.output
    return done.output


def test_the_page_says_what_to_run_and_what_to_expect():
    page = run(*SIZES)
    for said in (
        "No private data were used",
        "no evidence was given",
        "Recommended",
        "of the released labels right",
        "guarantee: epsilon 1, delta 1e-05",
        "clf.fit(X_private, y_private, X_public=X_pool)",
    ):
        assert said in page


def test_a_delta_above_one_over_the_records_is_noted():
    assert "delta is above 1/n = 5e-05" in run(*SIZES, "--delta", "0.001")
    assert "above 1/n" not in run(*SIZES)


def test_the_json_holds_the_same_plan():
    found = json.loads(run(*SIZES, "--json", "--accuracy", "20:0.7", "--accuracy", "80:0.85"))
    assert found["works"] and not found["private_data_used"]
    best = found["recommended"]
    assert best["epsilon"] <= 1.0 and best["call"] in found["run_next"]
    assert set(best["predicted"]) >= {"correct", "refused"}


def test_nonsense_gets_a_straight_answer_and_status_1():
    page = run("plan", "--records", "50", "--points", "100", "--epsilon", "0.01", status=1)
    assert "This will not work" in page
    assert "Records: there are 50; about" in page
    assert "Run next" not in page
    assert "Public points" in run("plan", "--records", "5000", "--points", "0", status=1)


def test_the_frontier_is_a_table_and_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    target = tmp_path / "frontier.svg"
    page = run(*SIZES, "--plot", str(target))
    assert "Accuracy against epsilon" in page and "sparse vector never beats" in page
    assert target.read_text().startswith("<?xml")


def test_a_picture_that_cannot_be_drawn_leaves_no_file(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    page = run(*SIZES, "--plot", str(tmp_path / "frontier.nonsense"), status=2)
    assert "`path` must end in a format" in page
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert ".[plots]" in run(*SIZES, "--plot", str(tmp_path / "frontier.png"), status=2)
    monkeypatch.undo()
    assert "folder that exists" in run(*SIZES, "--plot", str(tmp_path / "no" / "f.png"), status=2)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).round(4)
    words = np.where(X[:, 0] + 0.3 * rng.normal(size=150) > 0, "good", "bad")
    table = tmp_path / "public.csv"
    lines = ["a,b,c,verdict", *(f"{x[0]},{x[1]},{x[2]},{w}" for x, w in zip(X, words, strict=True))]
    table.write_text("\n".join(lines) + "\n")
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(",".join(map(str, row)) for row in rng.normal(size=(60, 3))) + "\n")
    return table, pool


def test_labelled_points_are_evidence(points):
    table, pool = points
    found = json.loads(run(*SIZES, "--labelled", str(table), "--pool", str(pool), "--json"))
    assert found["evidence"].startswith("150 labelled public points")
    assert 0.5 <= found["baseline"] < 0.7
    assert "classes=['bad', 'good']" in found["run_next"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--accuracy", "50"], "RECORDS:ACCURACY"),
        (["--accuracy", "50:0.7", "--accuracy", "50:0.8"], "every size once"),
        (["--accuracy", "50:2"], "`accuracy` must be in (0, 1)"),
        (["--epsilon", "-1"], "`epsilon`"),
        (["--delta", "0"], "`delta` must be above 0"),
        (["--correlation", "3"], "`correlation`"),
        (["--pool", __file__], "--pool goes with --labelled"),
        (["--labelled", __file__, "--accuracy", "50:0.8"], "not both"),
    ],
)
def test_bad_input_ends_in_one_line(arguments, said):
    page = run(*SIZES, *arguments, status=2)
    assert said in page and "Traceback" not in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one row"),
        ("1,2\n3\n", "as many cells in every row"),
        ("1,x,a\n2,y,b\n", "must hold numbers"),
        ("1,a\n2,a\n", "two classes"),
        ("1,a\n2,\n3,b\n", "must have a label in every row, got none in row 2"),
        ("label\n" + "a\nb\n" * 30, "a column besides the labels"),
        ("1,a\n2,b\n", "at least 30"),
        ("a,b\n1,2\n", "at least two classes"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tmp_path, text, said):
    table = tmp_path / "public.csv"
    table.write_text(text)
    page = run(*SIZES, "--labelled", str(table), status=2)
    assert said in page and "Traceback" not in page


def test_the_column_of_labels_has_a_name(points):
    table, _ = points
    page = run(*SIZES, "--labelled", str(table), "--label", "z", status=2)
    assert "must name a column" in page and "verdict" in page
