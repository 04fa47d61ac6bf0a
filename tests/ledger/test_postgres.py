"""What is particular to the PostgreSQL ledger: the server, its errors, lost connections."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import failpoints
from tests.support.ledger_contract import BUDGET, EVENT, CountingRelease, plan_of
from tests.support.lossy import LossyLine
from tests.support.postgres import PostgresServer

from tacit.accounting.budget import Budget
from tacit.errors import (
    InvalidArgument,
    LedgerCorrupt,
    LedgerError,
    LedgerFormatError,
    LedgerUnavailable,
)
from tacit.ledger import Analyst, PostgresLedger, open_ledger
from tacit.ledger.chain import RowKind, link
from tacit.ledger.plans import PlanRecord
from tacit.ledger.sql import SqlStore

pytestmark = [
    pytest.mark.needs("postgres"),
    # Python warns of forks beside other threads; these children are safe.
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


def new(url: str, **options: object) -> PostgresLedger:
    return PostgresLedger(url, budget=BUDGET, allow_insecure=True, **options)  # type: ignore[arg-type]


def filled(url: str, answers: int = 5) -> PostgresLedger:
    ledger = new(url)
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"%d" % n for n in range(answers)], CountingRelease())
    return ledger


def schema(url: str) -> str:
    return url.rpartition("%3D")[2]


# ---- opening --------------------------------------------------------------------------------


def test_urls_with_and_without_the_driver_name_the_same_ledger(postgres_url: str) -> None:
    first = open_ledger(postgres_url, budget=BUDGET)
    again = open_ledger(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    assert isinstance(again, PostgresLedger)
    assert again.head() == first.head()
    with pytest.raises(InvalidArgument, match="must start with postgresql"):
        PostgresLedger("postgresql+asyncpg://localhost/x")


def test_a_ledger_that_is_not_there_is_not_made_without_a_budget(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    with pytest.raises(InvalidArgument, match="There is no ledger at"):
        PostgresLedger(postgres_url)
    tables = postgres_server.execute(
        f"SELECT 1 FROM pg_tables WHERE schemaname = '{schema(postgres_url)}'"
    )
    assert tables == []
    with pytest.raises(InvalidArgument, match=r"`budget` is fixed"):
        new(postgres_url)
        PostgresLedger(postgres_url, budget=Budget(2.0, 1e-5))


def test_the_password_is_shown_nowhere(postgres_url: str) -> None:
    secret = postgres_url.replace("tacit@", "tacit:hunter2@")
    ledger = new(secret)
    assert "hunter2" not in repr(ledger)
    with pytest.raises(LedgerError, match="PGPASSFILE") as refused:
        pickle.dumps(ledger)
    with pytest.raises(InvalidArgument) as missing:
        PostgresLedger(secret.replace(schema(secret), "public"))
    with pytest.raises(LedgerUnavailable) as unreachable:
        PostgresLedger("postgresql://tacit:hunter2@/none?host=/nowhere", timeout=1)
    for error in (refused, missing, unreachable):
        assert "hunter2" not in str(error.value)


def test_places_that_cannot_be_reached_or_do_not_exist(postgres_server: PostgresServer) -> None:
    with pytest.raises(LedgerUnavailable, match="no connection to its server"):
        new("postgresql://tacit@/postgres?host=/nowhere")
    with pytest.raises(LedgerUnavailable, match="the URL is right"):
        new(postgres_server.url().replace("/postgres", "/nothing"))
    with pytest.raises(LedgerUnavailable, match="no schema"):
        new(postgres_server.url("not_there"))


def test_a_server_that_may_lose_what_it_confirmed_is_refused(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    postgres_server.execute("ALTER SYSTEM SET fsync = off")
    postgres_server.execute("SELECT pg_reload_conf(), pg_sleep(0.2)")
    try:
        with pytest.raises(LedgerUnavailable, match="fsync off"):
            new(postgres_url)
    finally:
        postgres_server.execute("ALTER SYSTEM RESET fsync")
        postgres_server.execute("SELECT pg_reload_conf(), pg_sleep(0.2)")


def test_commits_are_durable_whatever_the_role_prefers(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    postgres_server.execute("ALTER ROLE tacit SET synchronous_commit = off")
    postgres_server.execute("ALTER ROLE tacit SET default_transaction_isolation = serializable")
    try:
        ledger = new(postgres_url)
        database = ledger._database
        with database.transaction(write=True) as connection:
            for setting, value in (
                ("synchronous_commit", "on"),
                ("transaction_isolation", "read committed"),
            ):
                assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == value
    finally:
        postgres_server.execute("ALTER ROLE tacit RESET ALL")


def test_another_format_is_refused_and_left_alone(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    filled(postgres_url)
    statement = "UPDATE tacit_ledger_row SET format_version = 99 WHERE seq = 0"
    postgres_server.execute(statement, schema(postgres_url))
    with pytest.raises(LedgerFormatError, match="format 99"):
        PostgresLedger(postgres_url)


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "import tacit\n"
        "try: tacit.open_ledger('postgresql://localhost/x')\n"
        "except tacit.errors.LedgerUnavailable as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'.[postgres]'" in done.stdout


def test_a_role_that_may_only_read_and_add_is_enough(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    filled(postgres_url)
    place = schema(postgres_url)
    for statement in (
        "DROP ROLE IF EXISTS clerk",
        "CREATE ROLE clerk LOGIN",
        f"GRANT USAGE ON SCHEMA {place} TO clerk",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {place} TO clerk",
        f"GRANT INSERT ON {place}.tacit_ledger_row TO clerk",
    ):
        postgres_server.execute(statement)
    clerk = PostgresLedger(postgres_url.replace("tacit@", "clerk@"), allow_insecure=True)
    plan = clerk.open_plan(plan_of(0.2), "b")
    assert len(clerk.answer(plan, [b"x"], CountingRelease())) == 1
    postgres_server.execute(f"REVOKE INSERT ON {place}.tacit_ledger_row FROM clerk")
    with pytest.raises(LedgerUnavailable, match="Grant SELECT and INSERT"):
        clerk.answer(plan, [b"y"], CountingRelease())
    clerk.close()
    postgres_server.execute("DROP OWNED BY clerk")
    postgres_server.execute("DROP ROLE clerk")


# ---- scale ----------------------------------------------------------------------------------

READ = """
    SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)
    FROM pg_stat_xact_user_tables WHERE relid = 'tacit_ledger_row'::regclass
"""


@pytest.mark.parametrize("analysed", [False, True])
def test_a_request_reads_a_few_rows_however_many_there_are(
    postgres_url: str, postgres_server: PostgresServer, analysed: bool
) -> None:
    """Counted by the server: no look-up may leave its index, whatever the planner believes."""
    ledger = new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5, answers=10**6), "a")
    alice, bob = Analyst("alice"), Analyst("bob")
    ledger.answer(plan, [b"first"], CountingRelease(), on_behalf=bob)
    many = [b"%d" % n for n in range(3000)]
    ledger.answer(plan, many, CountingRelease(), on_behalf=alice)
    if analysed:
        postgres_server.execute("ANALYZE tacit_ledger_row", schema(postgres_url))
    database = ledger._database
    with database.transaction(write=True) as connection:
        store = SqlStore(connection)
        calls = {
            "newest": lambda: store.newest([0, 1]),
            "last": lambda: store.last(RowKind.SHOWN, 3),
            "keyed": lambda: store.keyed([(RowKind.ANSWER, plan, b"%032d" % n) for n in range(20)]),
            "owned": lambda: store.owned(RowKind.PLAN, 0),
            "at": lambda: store.at([5]),
        }
        for name, call in calls.items():
            before = connection.exec_driver_sql(READ).scalar_one()
            for _ in range(12):  # often enough for the driver to prepare the statement
                call()
            read = connection.exec_driver_sql(READ).scalar_one() - before
            assert read <= 12 * 30, name


def test_a_failed_draw_does_not_spoil_prepared_statements(postgres_url: str) -> None:
    ledger = filled(postgres_url)
    for _ in range(10):  # often enough for the driver to prepare statements
        ledger.usage(1)  # type: ignore[arg-type]

    class Failing(CountingRelease):
        def draw(self, new, room):  # type: ignore[no-untyped-def]
            raise RuntimeError("planted")

    with pytest.raises(RuntimeError, match="planted"):
        ledger.answer(1, [b"another"], Failing())  # type: ignore[arg-type]
    assert len(ledger.answer(1, [b"another"], CountingRelease())) == 1  # type: ignore[arg-type]


# ---- the chain ------------------------------------------------------------------------------

TAMPERING = {
    "edit a value": ("UPDATE tacit_ledger_row SET body = set_byte(body, 77, 9) WHERE seq = 4", 4),
    "remove a row": ("DELETE FROM tacit_ledger_row WHERE seq = 3", 3),
    "remove the beginning": ("DELETE FROM tacit_ledger_row WHERE seq = 0", 0),
    "move an answer": ("UPDATE tacit_ledger_row SET owner = 0 WHERE seq = 5", 5),
    "edit a hash": ("UPDATE tacit_ledger_row SET hash = set_byte(hash, 0, 0) WHERE seq = 2", 2),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_verify_names_the_first_row_that_does_not_hold(
    postgres_url: str, postgres_server: PostgresServer, name: str
) -> None:
    ledger = filled(postgres_url)
    ledger.verify()
    statement, row = TAMPERING[name]
    postgres_server.execute(statement, schema(postgres_url))
    with pytest.raises(LedgerCorrupt, match=f"Row {row} ") as found:
        ledger.verify()
    assert found.value.row == row


def test_truncation_needs_a_kept_head_to_be_seen(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    ledger = filled(postgres_url)
    known = ledger.head()
    postgres_server.execute("DELETE FROM tacit_ledger_row WHERE seq > 4", schema(postgres_url))
    fresh = PostgresLedger(postgres_url)
    assert fresh.verify().seq == 4
    with pytest.raises(LedgerCorrupt, match="its end was cut off"):
        fresh.verify(known=known)
    with pytest.raises(LedgerCorrupt, match="put back"):
        ledger.open_plan(plan_of(0.1), "b")


def test_a_writer_that_ignores_the_lock_cannot_make_another_overspend(postgres_url: str) -> None:
    """The safety net under the lock: two rows of one number do not fit."""
    ledger, rival = new(postgres_url), new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Overtaken(CountingRelease):
        def draw(self, new, room):  # type: ignore[no-untyped-def]
            rival._database.begin = (  # type: ignore[method-assign]
                lambda connection, *, write: connection.exec_driver_sql("BEGIN")
            )
            with rival._database.transaction(write=True) as connection:
                store = SqlStore(connection)
                record, (head,) = PlanRecord.read(store, plan), store.newest().values()
                answer = CountingRelease(first=7)._one()
                tally = record.tally(store).plus(answer)
                body = record.codec.encode_answer(b"k" * 32, answer, tally)
                store.append([link(head, RowKind.ANSWER, body, plan)])
            return super().draw(new, room)

    release = Overtaken()
    with pytest.raises(LedgerUnavailable, match="without its lock"):
        ledger.answer(plan, [b"q"], release)
    assert release.abandoned == 1
    assert not ledger.recorded(plan, [b"q"])
    assert ledger.usage(plan) == {EVENT: 1}
    ledger.verify()


def test_a_release_that_closes_its_ledger_records_nothing(postgres_url: str) -> None:
    ledger = new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Closing(CountingRelease):
        def draw(self, new, room):  # type: ignore[no-untyped-def]
            ledger.close()
            return super().draw(new, room)

    with pytest.raises(LedgerUnavailable, match="Nothing was released"):
        ledger.answer(plan, [b"q"], Closing())
    assert ledger.usage(plan) == {EVENT: 0}


# ---- connections that break -------------------------------------------------------------------


@pytest.mark.faults
@pytest.mark.parametrize("point", ["before-draw", "after-draw", "after-write"])
def test_a_connection_lost_before_the_commit_leaves_nothing(
    postgres_url: str, postgres_server: PostgresServer, point: str
) -> None:
    ledger = new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")
    release = CountingRelease()
    with failpoints.at(point, lambda: postgres_server.cut_connections() and None):
        with pytest.raises(LedgerUnavailable, match="Nothing was released|could not record"):
            ledger.answer(plan, [b"q"], release)
    assert release.abandoned == 1
    assert not ledger.recorded(plan, [b"q"])
    assert len(ledger.answer(plan, [b"q"], CountingRelease(first=3))) == 1
    assert ledger.usage(plan) == {EVENT: 1}
    ledger.verify()


@pytest.fixture
def line(postgres_server: PostgresServer) -> Iterator[LossyLine]:
    with LossyLine(postgres_server.folder) as line:
        yield line


@pytest.mark.faults
@pytest.mark.parametrize("lost", ["reply", "request"])
def test_a_connection_lost_during_the_commit_is_looked_into(
    postgres_url: str, line: LossyLine, lost: str
) -> None:
    ledger = new(line.through(postgres_url))
    plan = ledger.open_plan(plan_of(0.5), "a")
    ledger.answer(plan, [b"old"], CountingRelease(first=9))
    line.lose(lost)
    release = CountingRelease()
    alice = Analyst("alice")
    if lost == "reply":
        answers = ledger.answer(plan, [b"x", b"old", b"y"], release, on_behalf=alice)
        assert [a.label for a in answers] == [0, 9, 1]
        assert [len(a.cost) for a in answers] == [1, 0, 1]
    else:
        with pytest.raises(LedgerUnavailable, match="none was released"):
            ledger.answer(plan, [b"x", b"old", b"y"], release, on_behalf=alice)
    assert line.losses == 1
    assert release.abandoned == 1
    assert ledger.usage(plan) == {EVENT: 3 if lost == "reply" else 1}
    assert len(ledger.answer(plan, [b"x", b"y"], CountingRelease(first=20))) == 2
    assert ledger.usage(plan) == {EVENT: 3}
    ledger.verify()


@pytest.mark.faults
def test_a_server_that_stays_away_after_a_lost_commit_gives_no_answer(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    """It is not known what was recorded, so nothing leaves; asked again, what is stored wins."""
    with LossyLine(postgres_server.folder) as line:
        ledger = new(line.through(postgres_url))
        plan = ledger.open_plan(plan_of(0.5), "a")
        line.lose("reply")
        line.take_no_calls()
        release = CountingRelease(first=4)
        with pytest.raises(LedgerUnavailable):
            ledger.answer(plan, [b"q"], release)
        assert release.abandoned == 1
    again = PostgresLedger(postgres_url, allow_insecure=True)
    (answer,) = again.answer(plan, [b"q"], CountingRelease())
    assert answer.label == 4


@pytest.mark.faults
@pytest.mark.parametrize("lost", ["reply", "request"])
def test_a_plan_whose_commit_is_unclear_is_charged_once(
    postgres_url: str, line: LossyLine, lost: str
) -> None:
    ledger = new(line.through(postgres_url))
    line.lose(lost)
    with pytest.raises(LedgerUnavailable, match="same key"):
        ledger.open_plan(plan_of(0.6), "a")
    ledger.open_plan(plan_of(0.6), "a")
    assert ledger.reserved().epsilon == 0.6


@pytest.mark.faults
def test_a_connection_that_breaks_while_reading_is_replaced(
    postgres_url: str, postgres_server: PostgresServer
) -> None:
    ledger = filled(postgres_url)
    with pytest.raises(LedgerUnavailable), ledger._reading() as store:
        postgres_server.cut_connections()
        store.newest()
    assert ledger.usage(1) == {EVENT: 5}  # type: ignore[arg-type]


def test_a_cut_while_idle_goes_unnoticed_and_a_stopped_server_is_reported() -> None:
    with PostgresServer() as server:
        ledger = filled(server.url())
        server.cut_connections()
        assert ledger.usage(1) == {EVENT: 5}  # type: ignore[arg-type]
        server.restart("immediate")
        assert len(ledger.answer(1, [b"after a crash"], CountingRelease())) == 1  # type: ignore[arg-type]
        server.stop()
        release = CountingRelease()
        with pytest.raises(LedgerUnavailable, match="no connection"):
            ledger.answer(1, [b"while away"], release)  # type: ignore[arg-type]
        assert release.draws == []
        server.start()
        assert ledger.usage(1) == {EVENT: 6}  # type: ignore[arg-type]
        ledger.verify()
        ledger.close()


def test_a_locked_ledger_is_reported_and_nothing_is_drawn(postgres_url: str) -> None:
    ledger, other = new(postgres_url, timeout=0.2), new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")
    release = CountingRelease()
    with other._writing():
        with pytest.raises(LedgerUnavailable, match="another process is writing"):
            ledger.answer(plan, [b"q"], release)
        assert ledger.usage(plan) == {EVENT: 0}  # readers do not wait
    assert release.draws == []
    assert len(ledger.answer(plan, [b"q"], release)) == 1


@pytest.mark.faults
def test_a_full_disk_releases_nothing(postgres_url: str, postgres_server: PostgresServer) -> None:
    """The tables lie on a file system of their own, which is full."""
    folder = postgres_server.folder / f"small {schema(postgres_url)}"
    folder.mkdir()
    options = f"size=2m,mode=700,uid={folder.parent.stat().st_uid}"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount a file system")
    place = f"small_{schema(postgres_url)}"
    try:
        postgres_server.execute(f"CREATE TABLESPACE {place} LOCATION '{folder}'")
        ledger = new(postgres_url)
        postgres_server.execute(
            f"ALTER TABLE tacit_ledger_row SET TABLESPACE {place}", schema(postgres_url)
        )
        plan = ledger.open_plan(plan_of(0.5, answers=100_000), "a")
        release, done = CountingRelease(), 0
        with pytest.raises(LedgerUnavailable, match="disk is full"):
            while True:
                ledger.answer(plan, [b"%d" % n for n in range(done, done + 2000)], release)
                done += 2000
        assert release.abandoned == 1
        assert done > 0
        assert ledger.usage(plan) == {EVENT: done}
        assert len(ledger.answer(plan, [b"0"], release)) == 1  # what is stored is still given
        ledger.verify()
        ledger.close()
        postgres_server.execute("DROP TABLE tacit_ledger_row", schema(postgres_url))
        postgres_server.execute(f"DROP TABLESPACE {place}")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# ---- processes --------------------------------------------------------------------------------


def test_a_forked_child_connects_anew(postgres_url: str) -> None:
    ledger = filled(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")
    child = os.fork()
    if child == 0:
        try:
            ledger.answer(plan, [b"child"], CountingRelease(first=7))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ledger.answer(plan, [b"child"], CountingRelease())[0].label == 7
    ledger.verify()


def test_a_fork_inside_a_draw_cannot_commit_twice(postgres_url: str) -> None:
    ledger = new(postgres_url)
    plan = ledger.open_plan(plan_of(0.5), "a")

    class Forking(CountingRelease):
        def draw(self, new, room):  # type: ignore[no-untyped-def]
            self.child = os.fork()
            if self.child:
                assert os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1]) == 0
            return super().draw(new, room)

    release = Forking()
    try:
        ledger.answer(plan, [b"q"], release)
    except LedgerError:
        os._exit(0 if release.child == 0 else 1)
    if release.child == 0:
        os._exit(1)
    assert ledger.usage(plan) == {EVENT: 1}
    ledger.verify()


def test_pickling_gives_the_same_ledger(
    postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    ledger = filled(postgres_url)
    text = pickle.dumps(ledger)
    again = pickle.loads(text)
    assert again.allow_insecure
    assert again.head() == ledger.head()
    ledger.close()
    again.close()
    postgres_server.execute("DROP TABLE tacit_ledger_row", schema(postgres_url))
    with pytest.raises(LedgerUnavailable, match="no longer exists"):
        ledger.head()
    with pytest.raises(InvalidArgument, match="no ledger"):
        pickle.loads(text)
    new(postgres_url).close()
    with pytest.raises(LedgerUnavailable, match="Another ledger"):
        pickle.loads(text)
