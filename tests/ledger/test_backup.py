"""A backup is one state of the ledger; a restore never pretends that nothing was lost."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.ledger_contract import BUDGET, EVENT, CountingRelease, plan_of

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger import Amount, Analyst, Head, Ledger, open_ledger
from tacit.ledger.backup import read_backup, restore, write_backup

Place = Callable[[str], str]
WITH_POSTGRES = pytest.mark.needs("postgres")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=WITH_POSTGRES)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return a place for a ledger of each name."""
    if request.param == "sqlite":
        return lambda name: str(tmp_path / f"{name}.sqlite")
    server = request.getfixturevalue("postgres_server")
    prefix = f"{request.node.name}".partition("[")[0][:40] + str(id(request))
    return lambda name: server.create_schema(f"{prefix}_{name}")


def filled(where: str, answers: int = 5) -> Ledger:
    ledger = open_ledger(where, budget=BUDGET, allow_insecure=True)
    plan = ledger.open_plan(plan_of(0.5), "a")
    questions = [b"%d" % n for n in range(answers)]
    ledger.answer(plan, questions, CountingRelease(), on_behalf=Analyst("alice"))
    return ledger


def test_a_complete_backup_restores_everything(place: Place, tmp_path: Path) -> None:
    ledger = filled(place("old"))
    head = write_backup(ledger, tmp_path / "backup")
    assert head == ledger.head()
    to = place("new")
    restored_head = restore(tmp_path / "backup", to, known=head)
    restored = open_ledger(to, allow_insecure=True)
    assert restored_head == restored.head() and restored_head.seq == head.seq + 1
    assert restored.verify(known=head) == restored_head
    plan = restored.open_plan(plan_of(0.5), "a")
    assert restored.usage(plan) == ledger.usage(plan) == {EVENT: 5}
    assert restored.recorded_for(plan, "alice") == ledger.recorded_for(plan, "alice")
    assert restored.lifetime() == Amount(BUDGET.epsilon, BUDGET.delta)
    assert "RESTORED" not in restored.statement()
    assert [a.label for a in restored.answer(plan, [b"3"], CountingRelease())] == [3]


def test_lost_spend_must_be_accepted_and_stays_on_record(place: Place, tmp_path: Path) -> None:
    ledger = filled(place("old"))
    backup = write_backup(ledger, tmp_path / "backup")
    ledger.answer(ledger.open_plan(plan_of(0.5), "a"), [b"later"], CountingRelease())
    to = place("new")
    for known, words in ((None, "unknown number"), (ledger.head(), "1 rows")):
        with pytest.raises(InvalidArgument, match=words):
            restore(tmp_path / "backup", to, known=known)
    restore(tmp_path / "backup", to, known=ledger.head(), accept_lost_spend=True)
    restored = open_ledger(to, allow_insecure=True)
    assert restored.lifetime() == Amount(2 * BUDGET.epsilon, 2 * BUDGET.delta)
    assert restored.remaining().epsilon == 0.5
    assert "RESTORED once" in restored.statement() and "epsilon=2" in restored.statement()
    assert restored.verify(known=backup) == restored.head()
    with pytest.raises(LedgerCorrupt):  # the later head is of the account that was lost
        restored.verify(known=ledger.head())


def test_every_restore_with_lost_spend_adds_the_budget(tmp_path: Path) -> None:
    filled(str(tmp_path / "0")).close()
    for number in range(3):
        ledger = open_ledger(tmp_path / str(number))
        assert ledger.lifetime().epsilon == (number + 1) * BUDGET.epsilon
        write_backup(ledger, tmp_path / f"backup {number}")
        ledger.close()
        restore(tmp_path / f"backup {number}", tmp_path / str(number + 1), accept_lost_spend=True)
    assert "RESTORED 3 times" in open_ledger(tmp_path / "3").statement()


@WITH_POSTGRES
def test_a_ledger_moves_between_kinds(postgres_url: str, tmp_path: Path) -> None:
    ledger = filled(str(tmp_path / "a.sqlite"))
    restore(tmp_path / "1", postgres_url, known=write_backup(ledger, tmp_path / "1"))
    moved = open_ledger(postgres_url)
    restore(tmp_path / "2", tmp_path / "b.sqlite", known=write_backup(moved, tmp_path / "2"))
    back = open_ledger(tmp_path / "b.sqlite")
    assert back.lifetime().epsilon == BUDGET.epsilon
    assert back.head().seq == ledger.head().seq + 2


def test_an_older_head_does_not_prove_that_nothing_is_lost(tmp_path: Path) -> None:
    ledger = filled(str(tmp_path / "a.sqlite"))
    old = ledger.head()
    ledger.open_plan(plan_of(0.1), "b")
    write_backup(ledger, tmp_path / "backup")
    with pytest.raises(InvalidArgument, match="unknown number"):
        restore(tmp_path / "backup", tmp_path / "b.sqlite", known=old)
    with pytest.raises(LedgerCorrupt, match="Row 3"):
        restore(tmp_path / "backup", tmp_path / "b.sqlite", known=Head(3, "ab" * 32))


def test_a_ledger_that_is_there_is_never_replaced(place: Place, tmp_path: Path) -> None:
    where = place("old")
    ledger = filled(where)
    head = write_backup(ledger, tmp_path / "backup")
    with pytest.raises(InvalidArgument, match="already"):
        restore(tmp_path / "backup", where, known=head)
    assert ledger.head() == head
    with pytest.raises(InvalidArgument, match="exists"):
        write_backup(ledger, tmp_path / "backup")
    with pytest.raises(InvalidArgument, match="lasts"):
        restore(tmp_path / "backup", "memory:", known=head)


def test_the_file_is_private_and_nothing_is_left_of_a_failure(tmp_path: Path) -> None:
    ledger = filled(str(tmp_path / "a.sqlite"))
    write_backup(ledger, tmp_path / "backup")
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    with pytest.raises(LedgerUnavailable, match="not written"):
        write_backup(ledger, tmp_path / "nowhere" / "backup")
    with pytest.raises(LedgerUnavailable, match="does not exist"):
        restore(tmp_path / "backup", tmp_path / "nowhere" / "b.sqlite", accept_lost_spend=True)
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("DELETE FROM tacit_ledger_row WHERE seq = 3")
    connection.close()
    with pytest.raises(LedgerCorrupt, match="Row 3"):
        write_backup(ledger, tmp_path / "another")
    ledger.close()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.sqlite", "backup"]


def test_a_backup_is_one_state_while_the_ledger_goes_on(place: Place, tmp_path: Path) -> None:
    where = place("old")
    ledger, writer = filled(where), open_ledger(where, allow_insecure=True)
    plan = writer.open_plan(plan_of(0.5), "a")
    with ledger.snapshot() as (_, head, rows):
        first = next(rows)
        writer.answer(plan, [b"meanwhile"], CountingRelease())
        seen = [first, *rows]
    assert seen[-1].seq == head.seq
    assert writer.head().seq == head.seq + 1


DAMAGE: dict[str, tuple[Callable[[list[str]], list[str]], type[Exception], str]] = {
    "cut off": (lambda lines: lines[:-1], LedgerCorrupt, "ends with row"),
    "a row gone": (lambda lines: [*lines[:4], *lines[5:]], LedgerCorrupt, "Row 3 is missing"),
    "a row edited": (
        lambda lines: [*lines[:4], lines[4].replace("A", "B", 1), *lines[5:]],
        LedgerCorrupt,
        "Row 3",
    ),
    "a line of noise": (lambda lines: [*lines[:4], "\xff{", *lines[5:]], LedgerCorrupt, "Row 3"),
    "a row too many": (lambda lines: [*lines, lines[-1]], LedgerCorrupt, "Row 13"),
    "no rows": (lambda lines: lines[:1], LedgerCorrupt, "Row 0"),
    "nothing": (lambda lines: [], InvalidArgument, "not the backup"),
    "something else": (lambda lines: ["{}"], InvalidArgument, "not the backup"),
    "a later format": (
        lambda lines: [lines[0].replace('backup": 1', 'backup": 2'), *lines[1:]],
        InvalidArgument,
        "format 2",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_backup_is_refused(tmp_path: Path, name: str) -> None:
    ledger = filled(str(tmp_path / "a.sqlite"))
    write_backup(ledger, tmp_path / "good")
    edit, error, words = DAMAGE[name]
    lines = edit((tmp_path / "good").read_text().splitlines())
    (tmp_path / "bad").write_text("\n".join(lines), encoding="latin-1")
    with pytest.raises(error, match=words):
        restore(tmp_path / "bad", tmp_path / "b.sqlite", accept_lost_spend=True)
    assert not (tmp_path / "b.sqlite").exists()


def test_a_missing_backup_is_an_argument_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_backup(tmp_path / "none")


def test_the_first_line_tells_what_it_is(tmp_path: Path) -> None:
    ledger = filled(str(tmp_path / "a.sqlite"))
    head = write_backup(ledger, tmp_path / "backup")
    first = json.loads((tmp_path / "backup").read_text().splitlines()[0])
    assert first["head"] == {"seq": head.seq, "hash": head.hash}
    assert first["ledger_id"] == ledger.ledger_id
