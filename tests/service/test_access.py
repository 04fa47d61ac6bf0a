"""Keys, analysts and what is remembered of them."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.accounting.answer import Answer, Output
from tacit.errors import InvalidArgument, LedgerUnavailable
from tacit.noise import SecureNoise
from tacit.service.access import Access
from tacit.service.activity import Activity
from tacit.service.database import ServiceDatabase
from tacit.service.keys import make_key, matches, split_key
from tacit.service.request_store import RequestStore


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return Access(tmp_path / "access.sqlite", clock=now)


@pytest.fixture
def requests(tmp_path: Path) -> RequestStore:
    return RequestStore(ServiceDatabase(tmp_path / "access.sqlite"), now)


def now() -> float:
    return 1_800_000_000.0


def test_the_first_key_is_given_once(access: Access) -> None:
    first = access.first_admin()
    assert first is not None and access.first_admin() is None
    holder = access.holder(first.text)
    assert holder is not None and holder.is_admin and holder.name == "admin"


def test_an_analyst_who_came_first_does_not_keep_the_administrator_out(access: Access) -> None:
    access.create("ann")
    first = access.first_admin()
    assert first is not None and access.first_admin() is None
    access.revoke(first.id)
    assert access.first_admin() is None


def test_no_secret_is_kept(access: Access, tmp_path: Path) -> None:
    made = access.create("ann")
    secret = split_key(made.text)[1]  # type: ignore[index]
    access.close()
    for path in tmp_path.iterdir():
        assert secret.encode() not in path.read_bytes()
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert secret not in repr(made)


def test_another_secret_is_no_key(access: Access) -> None:
    made, other = access.create("ann"), make_key(SecureNoise())
    forged = made.text[:-43] + other.text[-43:]
    assert access.holder(forged) is None and access.holder(other.text) is None
    assert not matches(forged[-43:], made.salt, made.digest)


def test_names_are_new_and_rules_are_those_of_the_ledger(access: Access) -> None:
    access.create("ann", allowance=5, period="week", days=1.5)
    for bad in ({"name": "ann"}, {"name": ""}, {"name": "x" * 201}, {"name": "a\nb"},
                {"name": "b", "allowance": -1}, {"name": "b", "period": "year"},
                {"name": "b", "role": "king"}, {"name": "b", "days": 0}):  # fmt: skip
        with pytest.raises(InvalidArgument):
            access.create(**bad)  # type: ignore[arg-type]
    (line,) = access.list_keys()
    assert (line.analyst, line.allowance, line.period) == ("ann", 5, 604_800)
    assert line.expires == 1_800_000_000 + 129_600


def test_revoking_what_is_not_there(access: Access) -> None:
    for change in (access.revoke, access.rotate):
        with pytest.raises(InvalidArgument, match="no key"):
            change("0" * 16)


def test_periods_and_renewal(access: Access) -> None:
    key = access.create("ann", allowance=1, period="hour").text
    holder = access.holder(key)
    assert holder is not None
    now = 7200.0 + 600
    assert holder.analyst(now).period == 2 and holder.renews_in(now) == 3000


def test_activity_adds_up_over_workers(requests: RequestStore) -> None:
    requests.add_activity({(10, "ann"): (2, 1), (11, "ann"): (1, 0)})
    requests.add_activity({(10, "ann"): (3, 0), (10, "bob"): (0, 4)})
    assert requests.activity(0) == [(10, 5, 5), (11, 1, 0)]
    assert requests.activity(11) == [(11, 1, 0)]


@pytest.mark.needs("postgres")
def test_workers_that_count_at_the_same_moment_lose_nothing(postgres_url: str) -> None:
    databases = [ServiceDatabase(postgres_url) for _ in range(4)]
    workers = [RequestStore(database, now) for database in databases]
    hours = range(40)

    def count(worker: RequestStore, order: int) -> None:
        for hour in hours:
            analysts = ["ann", "bob"][::order]
            worker.add_activity({(hour, analyst): (1, 2) for analyst in analysts})

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(count, one, 1 if at % 2 else -1) for at, one in enumerate(workers)]
        for one in done:
            one.result()
    assert workers[0].activity(0) == [(hour, 8, 16) for hour in hours]
    for database in databases:
        database.close()


def test_what_could_not_be_written_down_is_written_down_later(
    requests: RequestStore, tmp_path: Path
) -> None:
    def rename(old: str, new: str) -> None:
        db = sqlite3.connect(tmp_path / "access.sqlite")
        db.execute(f"ALTER TABLE {old} RENAME TO {new}")
        db.close()

    activity = Activity(requests)
    activity.add("ann", [Answer(Output.LABEL, label, 1.0, 0.0, (), True) for label in ((1,), None)])
    rename("tacit_activity", "away")
    with pytest.raises(LedgerUnavailable):
        activity.flush()
    rename("away", "tacit_activity")
    activity.flush()
    activity.flush()
    assert activity.last_hours(1) == [(0, 1, 1)]


def test_the_secret_of_sessions_is_shared(requests: RequestStore, tmp_path: Path) -> None:
    database = ServiceDatabase(tmp_path / "access.sqlite")
    assert requests.session_secret() == RequestStore(database, now).session_secret()
    assert len(requests.session_secret()) == 32
    database.close()


def test_a_database_that_cannot_be_used_says_nothing_of_its_address(tmp_path: Path) -> None:
    path = tmp_path / "access.sqlite"
    path.write_bytes(b"no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(LedgerUnavailable) as caught:
        Access(path)
    assert str(tmp_path) not in str(caught.value)
