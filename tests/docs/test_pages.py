"""What the pages show is run: transcripts of the command line, and tutorials on real data.

Blocks of ``{doctest}`` are run when the documentation is built; see ``docs/conf.py``.
"""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.linear_model import LogisticRegression

import tacit
from tacit.accounting.budget import Budget
from tacit.cli.main import COMMANDS, cli

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)


# ---- the command line -------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A command of a transcript, and what the page says it prints."""

    command: str
    printed: str


def steps(path: Path) -> Iterator[Step]:
    for block in blocks(path, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield Step(command, printed)


def follow(path: Path) -> None:
    """Run every command of a page, in order, and compare what it prints."""
    key_id = ""
    found = list(steps(path))
    assert found
    for step in found:
        program, *arguments = shlex.split(step.command.replace("$KEY_ID", key_id))
        assert program == "tacit", step.command
        result = CliRunner().invoke(cli, arguments)
        assert "Traceback" not in result.output
        refused = step.printed.startswith("Error")
        assert (result.exit_code != 0) == refused, (step.command, result.output)
        shown = result.output if refused else result.stdout
        agreed = doctest.OutputChecker().check_output(step.printed, shown, LIKE)
        assert agreed, (step.command, shown)
        listed = re.search(r"^([0-9a-f]{16})  \S.* valid", shown, re.MULTILINE)
        key_id = listed[1] if listed else key_id


def test_the_first_page_does_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(DOCS / "start.md", "python")
    exec(compile(code, "start.md", "exec"), {})
    follow(DOCS / "start.md")
    assert "the student is right on" in (tmp_path / "report.html").read_text()
    assert len((tmp_path / "predicted.csv").read_text().splitlines()) == 301


def test_operations_do_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    account = tacit.open_ledger("patients.sqlite", budget=Budget(2.0, 1e-4))
    clf = tacit.PATEClassifier(
        LogisticRegression(), epsilon=1.0, delta=1e-5, classes=[0, 1], ledger=account,
        method=tacit.Votes(),
    )  # fmt: skip
    clf.fit(X, y, X_public=rng.normal(size=(30, 2)))
    account.close()
    oracle = tacit.PrivateOracle(
        LogisticRegression(), classes=[0, 1], mechanism="gaussian", n_teachers=20
    )
    tacit.save_oracle(oracle.fit(X, y), "flu")
    tacit.load_oracle("flu").close()
    follow(DOCS / "operations.md")


def test_every_command_is_named_in_the_documentation() -> None:
    text = "".join(path.read_text() for path in DOCS.rglob("*.md"))
    assert [name for name in COMMANDS if f"tacit {name}" not in text] == []


def test_every_command_that_a_page_names_is_there() -> None:
    pages = [*DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *TUTORIALS, ROOT / "README.md"]
    named = set()
    for page in pages:
        text = page.read_text()
        named |= set(re.findall(r"(?:`|^    |^\$ )tacit ([a-z]+)\b", text, re.MULTILINE))
    assert named <= set(COMMANDS)


# ---- tutorials --------------------------------------------------------------------------------


# Starlette's client says that it will want another package one day; httpx is what is locked.
@pytest.mark.filterwarnings("ignore:Using .httpx. with")
@pytest.mark.needs("data", "pandas")
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(blocks(path, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    assert len(test.examples) > 5
    said: list[str] = []
    doctest.DocTestRunner(optionflags=LIKE).run(test, out=said.append)
    assert said == []


def test_there_are_three_tutorials_and_each_is_linked() -> None:
    start = (DOCS / "start.md").read_text()
    assert len(TUTORIALS) == 3
    assert [path.name for path in TUTORIALS if f"tutorials/{path.name}" not in start] == []
