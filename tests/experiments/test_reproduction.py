"""The commands that reproduce [LZCW21], on little data: they run, resume, and do what they say."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier, Votes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)


def module(name: str) -> Any:
    pytest.importorskip("matplotlib")
    return importlib.import_module(f"experiments.reproduction.{name}")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_table_4_runs_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    table4, rows = module("table4"), tmp_path / "results" / "reproduction_table4_generated.jsonl"
    table4.main(["--data", "generated", "--splits", "0:1", "--out", str(tmp_path)])
    (first,) = lines(rows)
    with rows.open("a") as file:
        file.write('{"seed": 1, "cut sh')
    table4.main(["--data", "generated", "--splits", "0:2", "--out", str(tmp_path)])
    assert lines(rows)[0] == first
    assert [line["seed"] for line in lines(rows)] == [0, 1]
    assert [(row["method"], row["epsilon"]) for row in first["rows"][:8]] == [
        ("PSQ-NP", None),
        ("ASQ-NP", None),
        *((method, epsilon) for epsilon in (0.5, 1.0, 2.0) for method in ("PSQ", "ASQ")),
    ]
    for row in first["rows"]:
        assert row["epsilon"] is None or row["spent"] <= row["epsilon"] + 1e-4
    summary = json.loads((tmp_path / "results" / "reproduction_table4_generated.json").read_text())
    assert summary["splits"] == 2
    assert (tmp_path / "docs" / "images" / "reproduction_table4_generated.svg").stat().st_size < 2e5
    table = (tmp_path / "docs" / "figures" / "reproduction_table4_generated.inc").read_text()
    assert len(table.splitlines()) == 2 + 8


def test_a_private_row_is_what_the_classifier_does() -> None:
    data, protocol = module("data").load("generated"), module("protocol")
    split = protocol.Split(data, 0)
    for method, query in (("PSQ", None), ("ASQ", "yan-dbal")):
        row = split.run(protocol.Variant(method, 1.0, "exact"))
        vote = split.sizes.vote(method, 1.0, "exact")
        clf = PATEClassifier(
            LogisticRegression(),
            epsilon=1.0,
            delta=1 / split.sizes.private,
            classes=[0, 1],
            method=Votes(vote, n_questions=split.sizes.planned(method), query=query),
            n_teachers=split.sizes.teachers,
            student=LogisticRegression(),
            representation=None,
        ).fit(split.records, split.labels, X_public=split.points)
        assert row["sigma"] == pytest.approx(vote.sigma, abs=1e-4)
        assert len(clf.released_.positions) <= vote.answers
        if method == "PSQ":
            assert row["asked"] == len(clf.released_.positions) == len(split.names)
            assert row["spent"] == pytest.approx(clf.privacy_.spent_epsilon, abs=1e-4)


def test_sizes_and_noise_are_the_papers(tmp_path: Path) -> None:
    sizes, published = module("protocol").Sizes, module("published")
    for n, private, pool, budget, test, _ in published.TABLE_3.values():
        assert sizes.of(n) == sizes(n, private, pool, budget, test)
    # The two figures that the paper's formulas give for real-sim and mushrooms.
    assert sizes.of(8124).vote("ASQ", 1.0, "zcdp").sigma == pytest.approx(30.145, abs=1e-3)
    assert sizes.of(72309).vote("ASQ", 0.5, "exact").sigma == pytest.approx(141.090, abs=1e-2)
    module("table3").main(["--data", "generated", "--out", str(tmp_path)])
    assert (tmp_path / "results" / "reproduction_table3.json").exists()


def test_ex_post_epsilons_of_the_paper_are_exact_prices_at_the_budgets_noise() -> None:
    price = importlib.import_module("tacit.accounting.price").price
    events = importlib.import_module("tacit.accounting.events")
    sizes, published = module("protocol").Sizes, module("published")
    for name in ("mushrooms", "a9a"):
        size = sizes.of(published.TABLE_3[name][0])
        for epsilon in (0.5, 1.0, 2.0):
            row = published.printed(name, "ASQ", epsilon)
            sigma = size.vote("ASQ", epsilon, "exact").sigma
            event = events.GaussianCounts(sigma, 1)
            around = [
                price({event: count}, delta=1 / size.private).epsilon
                for count in (int(row.questions), int(np.ceil(row.questions)))
            ]
            assert around[0] - 2e-3 <= row.ex_post <= around[1] + 2e-3


def test_margins_and_figure_1_run(tmp_path: Path) -> None:
    small = ["--splits", "0:2", "--out", str(tmp_path)]
    module("margins").main([*small, "--data", "generated", "--teachers", "20"])
    module("figure1").main(small)
    for name in ("figure1", "figure3", "figure4"):
        image = tmp_path / "docs" / "images" / f"reproduction_{name}.svg"
        assert 0 < image.stat().st_size < 2e5
    table = (tmp_path / "docs" / "figures" / "reproduction_figure1.inc").read_text()
    assert "| vote | 1 | 0 | 0 | 0 | 0.75 |" in table
    margins = lines(tmp_path / "results" / "reproduction_margins_generated.jsonl")
    assert sum(margins[0]["histograms"]["margin"]) == pytest.approx(1, abs=1e-3)


def test_data_that_are_not_here_are_left_out_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "real-sim.bz2")
    table4 = module("table4")
    table4.main(["--data", "real-sim", "--path", missing, "--out", str(tmp_path)])
    assert "skipped: real-sim is not on this machine" in capsys.readouterr().out
    (tmp_path / "real-sim").write_text("1 1:0.5\n-1 2:0.5\n")
    table4.main(["--data", "real-sim", "--path", str(tmp_path / "real-sim")])
    assert "must hold the 72309 rows of real-sim, got 2" in capsys.readouterr().out


def test_splits_kept_for_other_experiments_are_refused() -> None:
    with pytest.raises(SystemExit, match="kept for other experiments"):
        module("command").seeds("90:101")
