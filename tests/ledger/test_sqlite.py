"""What is particular to the SQLite ledger: the file, its settings, its errors, its processes."""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support import failpoints
from tests.support.ledger_contract import BUDGET, EVENT, CountingRelease, plan_of

import tacit
from tacit.accounting.budget import Budget
from tacit.errors import (
    AllowanceExceeded,
    BudgetExceeded,
    InvalidArgument,
    LedgerCorrupt,
    LedgerError,
    LedgerFormatError,
    LedgerUnavailable,
)
from tacit.ledger import Analyst, PlanId, SqliteLedger
from tacit.ledger.chain import Row, RowKind, key_hash, link
from tacit.ledger.sql import SqlStore
from tacit.ledger.store import CommitUnclear

# Python warns of forks beside other threads; the test runner has some, and these children are safe.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def new(path: Path, **options: object) -> SqliteLedger:
    return SqliteLedger(path, budget=BUDGET, allow_insecure=True, **options)  # type: ignore[arg-type]


def filled(path: Path, answers: int = 5) -> SqliteLedger:
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"%d" % n for n in range(answers)], CountingRelease())
    return ledger


# ---- opening --------------------------------------------------------------------------------


def test_commits_are_durable_and_logged_ahead(path: Path) -> None:
    ledger = new(path)
    connection = ledger._database.connection()
    assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_only_the_owner_can_read_the_files(path: Path) -> None:
    ledger = filled(path)
    names = {file.name for file in path.parent.iterdir()}
    assert names == {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ledger.close()


def test_another_object_on_the_same_file_goes_on(path: Path) -> None:
    filled(path).close()
    again = SqliteLedger(path)
    plan = again.open_plan(plan_of(0.5), "a")
    assert again.usage(plan) == {EVENT: 5}
    assert [a.label for a in again.answer(plan, [b"3"], CountingRelease())] == [3]


def test_budget_and_composition_are_fixed_at_creation(path: Path) -> None:
    new(path).close()
    with pytest.raises(InvalidArgument, match=r"`budget` is fixed"):
        SqliteLedger(path, budget=Budget(2.0, 1e-5))
    with pytest.raises(InvalidArgument, match=r"`composition` is fixed"):
        SqliteLedger(path, composition="zcdp")


def test_a_new_ledger_needs_a_budget_and_leaves_no_file_without(path: Path) -> None:
    with pytest.raises(InvalidArgument, match="There is no ledger"):
        SqliteLedger(path)
    assert not path.exists()


def test_an_empty_file_left_by_a_crash_becomes_a_ledger(path: Path) -> None:
    path.touch(0o600)
    with pytest.raises(InvalidArgument, match="There is no ledger"):
        SqliteLedger(path)
    assert new(path).head().seq == 0


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_path_is_a_file(name: str) -> None:
    with pytest.raises(InvalidArgument, match="MemoryLedger"):
        SqliteLedger(name, budget=BUDGET)


def test_places_that_cannot_hold_a_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="not a file"):
        new(tmp_path)
    with pytest.raises(LedgerUnavailable, match="does not exist"):
        new(tmp_path / "nowhere" / "ledger.sqlite")
    text = tmp_path / "text"
    text.write_text("this is not a database, whatever it is " * 100)
    with pytest.raises(LedgerUnavailable, match="not a database"):
        new(text)


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(LedgerUnavailable, match="not a ledger"):
        new(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("mine",)]
    other.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(LedgerUnavailable, match="permissions"):
            new(tmp_path / "ledger.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_a_locked_ledger_is_reported_and_nothing_is_drawn(path: Path) -> None:
    ledger = new(path, timeout=0.05)
    plan = ledger.open_plan(plan_of(0.5), "a")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    release = CountingRelease()
    with pytest.raises(LedgerUnavailable, match="another process is writing"):
        ledger.answer(plan, [b"q"], release)
    assert release.draws == []
    other.execute("ROLLBACK")
    other.close()
    assert len(ledger.answer(plan, [b"q"], release)) == 1


# ---- formats --------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [0, 6])
def test_a_row_of_another_format_is_refused(path: Path, row: int) -> None:
    filled(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"UPDATE tacit_ledger_row SET format_version = 3 WHERE seq = {row}")
    other.close()
    with pytest.raises(LedgerFormatError, match="format 3.*Nothing was changed"):
        SqliteLedger(path).open_plan(plan_of(0.1), "b")


def test_the_database_itself_admits_one_answer_per_question(path: Path) -> None:
    """The unique index is the last line of defence against a second draw."""
    ledger = filled(path)
    with ledger._reading() as store:
        rows = list(store.rows())
    again = link(rows[-1], RowKind.ANSWER, rows[-1].body, rows[-1].owner)
    with pytest.raises(LedgerUnavailable), ledger._writing() as store:
        store.append([again])
    assert ledger.head().seq == rows[-1].seq


def test_a_damaged_index_is_found(path: Path) -> None:
    ledger = filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA writable_schema = ON")
    other.execute(
        "UPDATE sqlite_schema SET sql = replace(sql, 'owner, seq', 'seq, owner') "
        "WHERE name = 'tacit_ledger_owner'"
    )
    other.close()
    ledger.close()
    with pytest.raises(LedgerCorrupt, match="indexes do not agree"):
        ledger.verify()


@pytest.mark.parametrize("where", ["the commit", "the way back"])
def test_an_interrupt_at_the_end_keeps_nobody_out(
    path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ledger = filled(path)
    with monkeypatch.context() as patch:
        patch.setattr(ledger._database, "commit", interrupted)
        if where == "the way back":
            patch.setattr(ledger._database, "roll_back", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.answer(PlanId(1), [b"new"], CountingRelease())
    assert len(ledger.answer(PlanId(1), [b"new"], CountingRelease())) == 1
    ledger.verify()


# ---- several objects on one file ---------------------------------------------------------------


def test_rows_that_others_append_are_read(path: Path) -> None:
    ours, theirs = new(path), new(path)
    plan = ours.open_plan(plan_of(0.5, answers=10_000), "a")
    start = 0
    for size in (1, 3, 700, 2, 1):
        questions = [b"%d" % n for n in range(start, start + size)]
        first = theirs.answer(plan, questions, CountingRelease())
        release = CountingRelease()
        again = ours.answer(plan, questions, release)
        assert [a.values for a in again] == [a.values for a in first]
        assert release.draws == []
        start += size
        ours, theirs = theirs, ours
    ours.verify()


def test_what_others_spent_counts_at_once(path: Path) -> None:
    mine, theirs = new(path), new(path)
    plan = mine.open_plan(plan_of(0.5, answers=4), "a")
    alice = Analyst("alice", allowance=3)
    mine.answer(plan, [b"1"], CountingRelease(), on_behalf=alice)
    theirs.answer(plan, [b"2", b"3"], CountingRelease(), on_behalf=alice)
    release = CountingRelease()
    with pytest.raises(AllowanceExceeded):
        mine.answer(plan, [b"4"], release, on_behalf=alice)
    mine.answer(plan, [b"4"], release)
    with pytest.raises(BudgetExceeded):
        mine.answer(plan, [b"5"], release)
    assert release.draws == [[0]]
    mine.verify()


@pytest.mark.parametrize("point", ["after-draw", "after-write", "before-commit"])
def test_what_was_not_committed_is_not_counted(path: Path, point: str) -> None:
    ledger = new(path)
    plan, alice = ledger.open_plan(plan_of(0.5), "a"), Analyst("alice")
    ledger.answer(plan, [b"1"], CountingRelease(), on_behalf=alice)

    def fail() -> None:
        raise RuntimeError

    with failpoints.at(point, fail), pytest.raises(RuntimeError):
        ledger.answer(plan, [b"2"], CountingRelease(), on_behalf=alice)
    ledger.answer(plan, [b"3"], CountingRelease(), on_behalf=alice)
    release = CountingRelease()
    ledger.answer(plan, [b"2"], release, on_behalf=alice)
    assert release.draws == [[0]]
    assert ledger.usage(plan) == {EVENT: 3}
    assert ledger.recorded_for(plan, "alice").total.answered == 3
    ledger.verify()


@pytest.mark.parametrize(
    "body", ["CAST(substr(body, 1, 77) || x'09' AS BLOB)", "zeroblob(length(body))"]
)
def test_a_stored_answer_that_was_edited_is_neither_given_nor_drawn_again(
    path: Path, body: str
) -> None:
    ledger = filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(f"UPDATE tacit_ledger_row SET body = {body} WHERE seq = 4")
    other.close()
    release = CountingRelease()
    with pytest.raises(LedgerCorrupt, match="Row 4"):
        ledger.answer(PlanId(1), [b"2"], release)
    assert release.draws == []


def test_the_last_row_of_an_owner_is_read_among_others(path: Path) -> None:
    ledger = new(path)
    quiet = ledger.open_plan(plan_of(0.2), "quiet")
    busy = ledger.open_plan(plan_of(0.3, answers=2000), "busy")
    empty = ledger.open_plan(plan_of(0.1), "empty")
    ledger.answer(quiet, [b"one"], CountingRelease())
    ledger.answer(busy, [b"%d" % k for k in range(1500)], CountingRelease())
    with ledger._reading() as store:
        last = store.last(RowKind.ANSWER, quiet)
        assert last is not None and last.key == key_hash(b"one")
        assert len(store.owned(RowKind.ANSWER, busy)) == 1500
        newest = store.last(RowKind.ANSWER, busy)
        assert newest is not None and newest.seq == 4 + 1500
        assert store.last(RowKind.ANSWER, empty) is None
    assert ledger.usage(quiet) == {EVENT: 1}


def test_a_look_up_takes_the_same_work_however_many_rows_there_are(path: Path) -> None:
    """Counted in steps of SQLite's virtual machine: no look-up may read all rows."""
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5, answers=10_000), "a")
    alice = Analyst("alice")
    ledger.answer(plan, [b"first"], CountingRelease(), on_behalf=alice)
    ledger.answer(plan, [b"%d" % n for n in range(3000)], CountingRelease())
    hundreds: list[int] = []
    driver = ledger._database.connection().connection.driver_connection
    assert driver is not None
    driver.set_progress_handler(lambda: hundreds.append(1), 100)
    with ledger._reading() as store:
        calls = {
            "newest": lambda: store.newest([0, plan]),
            "at": lambda: store.at([5]),
            "owned": lambda: store.owned(RowKind.PLAN, 0),
            "keyed": lambda: store.keyed(
                [(RowKind.ANSWER, plan, b"x" * 32), (RowKind.ANSWER, plan, key_hash(b"7"))]
            ),
            "last": lambda: store.last(RowKind.SHOWN, 3),
        }
        for name, call in calls.items():
            hundreds.clear()
            call()
            assert len(hundreds) <= 5, name


# ---- the chain ------------------------------------------------------------------------------

# Rows: 0 creation, 1 plan, 2 to 6 answers.
TAMPERING = {
    "edit a value": (
        "UPDATE tacit_ledger_row SET body = CAST(substr(body, 1, 77) || x'09' AS BLOB) "
        "WHERE seq = 4",
        4,
    ),
    "edit a charge": (
        "UPDATE tacit_ledger_row SET body = "
        "CAST(substr(body, 1, 37) || x'00' || substr(body, 39) AS BLOB) WHERE seq = 4",
        4,
    ),
    "remove a row": ("DELETE FROM tacit_ledger_row WHERE seq = 3", 3),
    "remove the beginning": ("DELETE FROM tacit_ledger_row WHERE seq = 0", 0),
    "insert a row": (
        "INSERT INTO tacit_ledger_row "
        "SELECT 7, format_version, kind, owner, randomblob(length(body)), hash, x'00' "
        "FROM tacit_ledger_row WHERE seq = 6",
        7,
    ),
    "swap two rows": (
        "UPDATE tacit_ledger_row SET seq = CASE seq WHEN 3 THEN -4 WHEN 4 THEN -3 END "
        "WHERE seq IN (3, 4); UPDATE tacit_ledger_row SET seq = -seq WHERE seq < 0",
        3,
    ),
    "move an answer to another plan": ("UPDATE tacit_ledger_row SET owner = 0 WHERE seq = 5", 5),
    "raise the budget": (
        "UPDATE tacit_ledger_row SET body = CAST(replace(CAST(body AS TEXT), "
        "'\"epsilon\":1.0', '\"epsilon\":9.0') AS BLOB) WHERE seq = 0",
        0,
    ),
    "edit an address": ("UPDATE tacit_ledger_row SET address = x'00' WHERE seq = 3", 3),
    "edit a hash": ("UPDATE tacit_ledger_row SET hash = zeroblob(32) WHERE seq = 2", 2),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_verify_names_the_first_row_that_does_not_hold(path: Path, name: str) -> None:
    ledger = filled(path)
    ledger.verify()
    script, row = TAMPERING[name]
    other = sqlite3.connect(path, isolation_level=None)
    other.executescript(script)
    other.close()
    with pytest.raises(LedgerCorrupt, match=f"Row {row} "):
        ledger.verify()


def test_a_chain_recomputed_after_an_edit_is_still_inconsistent(path: Path) -> None:
    """Counts are recomputed: a forger has to lie consistently, and then a kept head tells."""
    ledger = filled(path)
    known = ledger.head()
    with ledger._reading() as store:
        rows = list(store.rows())
    del rows[3]  # forget one answer and forge every hash after it
    forged: list[Row] = []
    for row in rows:
        before = forged[-1] if forged else None
        forged.append(link(before, RowKind(row.kind), row.body, row.owner))
    ledger.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DELETE FROM tacit_ledger_row")
    other.close()
    with ledger._writing() as store:
        store.append(forged)
    ledger.close()
    fresh = SqliteLedger(path)
    with pytest.raises(LedgerCorrupt, match="Row 3 counts something else"):
        fresh.verify()
    with pytest.raises(LedgerCorrupt):
        fresh.verify(known=known)


def test_truncation_needs_a_kept_head_to_be_seen(path: Path) -> None:
    ledger = filled(path)
    known = ledger.head()
    ledger.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("DELETE FROM tacit_ledger_row WHERE seq > 4")
    other.close()
    fresh = SqliteLedger(path)
    assert fresh.verify().seq == 4  # the documented limit of a hash chain
    with pytest.raises(LedgerCorrupt, match="earlier state"):
        fresh.verify(known=known)
    # The object that saw the later head refuses to go on.
    with pytest.raises(LedgerCorrupt, match="put back"):
        ledger.open_plan(plan_of(0.1), "b")


def test_a_ledger_that_was_deleted_is_not_started_afresh(path: Path) -> None:
    ledger = filled(path)
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(LedgerUnavailable, match="no longer exists"):
        ledger.usage(ledger_plan(ledger))
    new(path).close()
    with pytest.raises(LedgerCorrupt, match="replaced"):
        ledger.open_plan(plan_of(0.1), "b")


def ledger_plan(ledger: SqliteLedger) -> int:
    return 1


def test_a_decision_does_not_rest_on_an_edited_row(path: Path) -> None:
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5, answers=2), "a")
    ledger.answer(plan, [b"1", b"2"], CountingRelease())
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(
        "UPDATE tacit_ledger_row SET body = CAST(substr(body, 1, 32) || zeroblob(46) AS BLOB) "
        "WHERE seq = 3"
    )
    other.close()
    with pytest.raises(LedgerCorrupt, match="Row 3"):
        ledger.answer(plan, [b"3"], CountingRelease())


def test_answers_have_one_size_whatever_they_say(path: Path) -> None:
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"1"], CountingRelease(first=2**62))
    ledger.answer(plan, [b"2"], CountingRelease(refuse=True))
    ledger.answer(plan, [b"3"], CountingRelease(cost=()))
    with ledger._reading() as store:
        rows = store.owned(RowKind.ANSWER, plan)
    assert {(len(row.body), len(row.hash)) for row in rows} == {(78, 32)}


# ---- commits that fail ------------------------------------------------------------------------


class Unclear(SqliteLedger):
    """Its next commit reports an error, after or without taking effect."""

    takes_effect = True
    armed = False

    @contextmanager
    def _writing(self) -> Iterator[SqlStore]:
        armed, self.armed = self.armed, False
        with super()._writing() as store:
            yield store
            if armed and not self.takes_effect:
                raise CommitUnclear from sqlite3.OperationalError("disk I/O error")
        if armed:
            raise CommitUnclear from sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize("takes_effect", [True, False])
def test_after_an_unclear_commit_the_keys_are_read_again(path: Path, takes_effect: bool) -> None:
    ledger = Unclear(path, budget=BUDGET, allow_insecure=True)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"old"], CountingRelease(first=9))
    ledger.takes_effect, ledger.armed = takes_effect, True
    release = CountingRelease()
    if takes_effect:
        answers = ledger.answer(plan, [b"x", b"old", b"y"], release)
        assert [a.label for a in answers] == [0, 9, 1]
        assert [len(a.cost) for a in answers] == [1, 0, 1]
    else:
        with pytest.raises(LedgerUnavailable, match="none was released"):
            ledger.answer(plan, [b"x", b"old", b"y"], release)
    assert release.abandoned == 1
    assert ledger.usage(plan) == {EVENT: 3 if takes_effect else 1}
    assert len(ledger.answer(plan, [b"x", b"y"], CountingRelease(first=20))) == 2
    assert ledger.usage(plan) == {EVENT: 3}
    ledger.verify()


@pytest.mark.parametrize("takes_effect", [True, False])
def test_an_unclear_plan_is_charged_once(path: Path, takes_effect: bool) -> None:
    ledger = Unclear(path, budget=BUDGET)
    ledger.takes_effect, ledger.armed = takes_effect, True
    with pytest.raises(LedgerUnavailable, match="same key"):
        ledger.open_plan(plan_of(0.6), "a")
    ledger.open_plan(plan_of(0.6), "a")
    assert ledger.reserved().epsilon == 0.6


def test_a_ledger_whose_creation_is_unclear_can_be_opened_again(path: Path) -> None:
    class NeverCreated(Unclear):
        armed = True
        takes_effect = False

    with pytest.raises(LedgerUnavailable, match="could not be written"):
        NeverCreated(path, budget=BUDGET)
    assert new(path).head().seq == 0


@pytest.mark.parametrize("point", failpoints.POINTS)
def test_an_error_at_any_point_gives_no_answer_and_no_double_spend(path: Path, point: str) -> None:
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5), "a")

    def fail() -> None:
        raise KeyboardInterrupt

    with failpoints.at(point, fail), pytest.raises(KeyboardInterrupt):
        ledger.answer(plan, [b"q"], CountingRelease())
    recorded = point == "after-commit"
    assert len(ledger.recorded(plan, [b"q"])) == recorded
    assert len(ledger.answer(plan, [b"q"], CountingRelease())) == 1
    assert ledger.usage(plan) == {EVENT: 1}


@pytest.mark.faults
def test_a_full_disk_releases_nothing(path: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5, answers=5000), "a")
    ledger.close()
    child = os.fork()
    if child == 0:
        os._exit(_ask_on_a_full_disk(path, plan))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert ledger.usage(plan) == {EVENT: 0}
    ledger.verify()


def _ask_on_a_full_disk(path: Path, plan: int) -> int:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    release = CountingRelease()
    try:
        ledger = SqliteLedger(path, allow_insecure=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64_000, 64_000))
        ledger.answer(plan, [b"%d" % n for n in range(5000)], release)  # type: ignore[arg-type]
    except LedgerUnavailable:
        return 0 if release.draws and release.abandoned else 2
    except BaseException:
        return 3
    return 1


# ---- processes --------------------------------------------------------------------------------


def in_child(work: object) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()  # type: ignore[operator]
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_a_forked_child_opens_the_file_anew(path: Path) -> None:
    ledger = filled(path)
    plan = ledger.open_plan(plan_of(0.5), "a")
    assert in_child(lambda: ledger.answer(plan, [b"child"], CountingRelease(first=7))) == 0
    assert ledger.answer(plan, [b"child"], CountingRelease())[0].label == 7
    ledger.verify()


def test_a_child_keeps_the_log_alive_when_its_parent_closes(path: Path) -> None:
    """With locks inherited from the parent the log would be deleted under the child."""
    ledger = filled(path)
    plan = ledger.open_plan(plan_of(0.5), "a")
    to_child, to_parent = os.pipe(), os.pipe()

    def work() -> None:
        ledger.answer(plan, [b"one"], CountingRelease(first=7))
        os.write(to_parent[1], b"x")
        os.read(to_child[0], 1)
        ledger.answer(plan, [b"two"], CountingRelease(first=8))

    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.read(to_parent[0], 1)
    ledger.answer(plan, [b"parent"], CountingRelease())
    ledger.close()
    os.write(to_child[1], b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert [a.label for a in ledger.answer(plan, [b"one", b"two"], CountingRelease())] == [7, 8]
    ledger.verify()


def test_a_fork_inside_a_draw_cannot_commit_twice(path: Path) -> None:
    ledger = new(path)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Forking(CountingRelease):
        def draw(self, new, room):  # type: ignore[no-untyped-def]
            self.child = os.fork()
            return super().draw(new, room)

    release = Forking()
    try:
        ledger.answer(plan, [b"q"], release)
    except LedgerError:
        os._exit(0 if release.child == 0 else 1)
    if release.child == 0:
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(release.child, 0)[1]) == 0
    assert ledger.usage(plan) == {EVENT: 1}
    ledger.verify()


def test_pickling_gives_the_same_file(path: Path) -> None:
    ledger = filled(path)
    again = pickle.loads(pickle.dumps(ledger))
    assert again.path == ledger.path
    assert again.allow_insecure
    assert again.head() == ledger.head()
    text = pickle.dumps(ledger)
    ledger.close()
    again.close()
    path.unlink()
    with pytest.raises(InvalidArgument, match="no ledger"):
        pickle.loads(text)
    new(path).close()
    with pytest.raises(LedgerUnavailable, match="Another ledger"):
        pickle.loads(text)


def test_a_missing_ledger_says_how_to_create_it(path: Path) -> None:
    with pytest.raises(InvalidArgument) as refused:
        tacit.open_ledger(path)
    call = f"tacit.open_ledger({str(path)!r}, budget=Budget(...))"
    assert call in str(refused.value)
    tacit.open_ledger(path, budget=Budget(1.0, 1e-5)).close()
    tacit.open_ledger(path).close()


WORKER = """
import sys
from tacit.errors import BudgetExceeded
from tacit.ledger import SqliteLedger
from tests.support.ledger_contract import BUDGET, CountingRelease, plan_of

name, path = sys.argv[1:]
ledger = SqliteLedger(path, budget=BUDGET, allow_insecure=True)
plan = ledger.open_plan(plan_of(0.5, answers=40), "shared")
given = 0
try:
    for number in range(100):
        given += len(ledger.answer(plan, [f"{name} {number}".encode()], CountingRelease()))
except BudgetExceeded:
    print(given)
"""


def test_processes_that_start_together_never_overspend(path: Path) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(n), str(path)], stdout=subprocess.PIPE, text=True
        )
        for n in range(4)
    ]
    given = [int(worker.communicate()[0]) for worker in workers]
    assert sum(given) == 40
    ledger = SqliteLedger(path)
    assert ledger.reserved().epsilon == 0.5
    ledger.verify()


def test_test_noise_is_refused_by_default(path: Path) -> None:
    ledger = SqliteLedger(path, budget=BUDGET)
    plan = ledger.open_plan(plan_of(0.5), "a")
    with pytest.raises(LedgerError, match="test noise"):
        ledger.answer(plan, [b"q"], CountingRelease())
    assert ledger.usage(plan) == {EVENT: 0}


def test_the_repr_and_refusals_hold_public_numbers_only(path: Path) -> None:
    ledger = filled(path)
    assert repr(ledger) == f"SqliteLedger({str(path)!r})"
    with pytest.raises(BudgetExceeded) as refused:
        ledger.open_plan(plan_of(0.7), "b")
    assert "epsilon=0.7" in str(refused.value)
    assert "epsilon=0.5" in str(refused.value)
