"""``tacit ledger``: exit statuses, findings, heads, backups."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.ledger_contract import BUDGET, CountingRelease, plan_of

from tacit.cli.main import cli
from tacit.ledger import SqliteLedger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger with rows 0 (creation), 1 (plan) and 2 to 6 (answers)."""
    place = tmp_path / "ledger.sqlite"
    ledger = SqliteLedger(place, budget=BUDGET, allow_insecure=True)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"%d" % n for n in range(5)], CountingRelease())
    ledger.close()
    return place


def run(*words: object) -> Result:
    result = CliRunner().invoke(cli, ["ledger", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def facts(*words: object, status: int = 0) -> dict[str, Any]:
    result = run(*words, "--json")
    assert result.exit_code == status, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


def test_a_sound_ledger_verifies(path: Path) -> None:
    assert run("verify", path).stdout == "The chain holds: 7 rows.\n"
    assert facts("verify", path)["rows"] == 7


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("DELETE FROM tacit_ledger_row WHERE seq = 3", 3),
        ("DELETE FROM tacit_ledger_row WHERE seq = 0", 0),
        ("UPDATE tacit_ledger_row SET body = zeroblob(78) WHERE seq = 4", 4),
        ("UPDATE tacit_ledger_row SET body = zeroblob(9) WHERE seq = 0", 0),
    ],
)
def test_a_removed_or_edited_row_is_found_with_its_number(
    path: Path, statement: str, row: int
) -> None:
    change(path, statement)
    found = facts("verify", path, status=1)
    assert (found["ok"], found["row"]) == (False, row)
    plain = run("verify", path)
    assert plain.exit_code == 1 and f"Row {row} " in plain.stderr and plain.stdout == ""
    assert facts("backup", path, path.parent / "backup", status=1)["row"] == row
    assert not (path.parent / "backup").exists()


def test_a_head_kept_elsewhere_shows_rollback_and_truncation(path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "elsewhere.json"
    assert facts("head", path, "--out", kept) == json.loads(kept.read_text())
    assert "contains the head" in run("verify", path, "--head", kept).stdout
    before = kept.read_text()
    change(path, "DELETE FROM tacit_ledger_row WHERE seq > 4")
    assert run("verify", path).exit_code == 0  # a chain alone cannot tell
    assert facts("verify", path, "--head", kept, status=1)["row"] == 5
    assert facts("head", path, "--out", kept, status=1)["row"] == 6
    assert kept.read_text() == before
    ledger = SqliteLedger(path, allow_insecure=True)  # used again after the rollback
    ledger.answer(1, [b"%d" % n for n in range(20, 24)], CountingRelease())  # type: ignore[arg-type]
    ledger.close()
    assert facts("verify", path, "--head", kept, status=1)["row"] == 6


def test_a_head_of_another_ledger_is_a_finding(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    SqliteLedger(other, budget=BUDGET).close()
    run("head", other, "--out", tmp_path / "head.json")
    assert (
        "another ledger"
        in facts("verify", path, "--head", tmp_path / "head.json", status=1)["problem"]
    )


def test_backup_and_restore(path: Path, tmp_path: Path) -> None:
    kept, copy, new = tmp_path / "head.json", tmp_path / "copy", tmp_path / "new.sqlite"
    assert facts("backup", path, copy)["rows"] == 7
    run("head", path, "--out", kept)
    refused = run("restore", copy, new)
    assert refused.exit_code == 2 and "accept the lost spend" in refused.stderr
    assert not new.exists()
    done = facts("restore", copy, new, "--head", kept)
    assert (done["rows"], done["lifetime"]["epsilon"]) == (8, 1.0)
    assert run("verify", new, "--head", kept).exit_code == 0


def test_restoring_an_older_ledger_needs_a_word_and_is_recorded(path: Path, tmp_path: Path) -> None:
    kept, copy, new = tmp_path / "head.json", tmp_path / "copy", tmp_path / "new.sqlite"
    run("backup", path, copy)
    ledger = SqliteLedger(path, allow_insecure=True)
    ledger.answer(1, [b"later"], CountingRelease())  # type: ignore[arg-type]
    ledger.close()
    run("head", path, "--out", kept)
    refused = run("restore", copy, new, "--head", kept)
    assert refused.exit_code == 2 and "1 rows would be lost" in refused.stderr
    done = run("restore", copy, new, "--head", kept, "--accept-lost-spend")
    assert done.exit_code == 0 and "epsilon=2" in done.stdout
    assert "RESTORED once" in SqliteLedger(new).statement()


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("verify", "none.sqlite"), 2),
        (("verify", "mysql://localhost/x"), 2),
        (("verify", "nowhere/none.sqlite"), 3),
        (("verify", "postgresql://tacit@/x?host=/nowhere"), 3),
        (("restore", "none", "new.sqlite"), 2),
        (("head", "none.sqlite", "--out", "x"), 2),
        (("verify", "none.sqlite", "--head", "none"), 2),
        (("backup", "none.sqlite", "x"), 2),
        (("verify", "memory:"), 2),
        (("nothing",), 2),
    ],
)
def test_bad_input_is_one_line_and_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], status: int
) -> None:
    monkeypatch.chdir(tmp_path)
    if "postgresql" in words[-1]:
        pytest.importorskip("psycopg")
    result = run(*words)
    assert result.exit_code == status
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Error: ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_without_a_head_is_bad_input(path: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("{}")
    result = run("verify", path, "--head", tmp_path / "text")
    assert result.exit_code == 2 and "does not hold the head" in result.stderr


@pytest.mark.needs("postgres")
def test_a_backup_goes_into_postgresql(path: Path, tmp_path: Path, postgres_url: str) -> None:
    run("backup", path, tmp_path / "copy")
    run("head", path, "--out", tmp_path / "head.json")
    assert facts("restore", tmp_path / "copy", postgres_url, "--head", tmp_path / "head.json")["ok"]
    assert facts("verify", postgres_url)["rows"] == 8
    assert facts("backup", postgres_url, tmp_path / "again")["rows"] == 8
