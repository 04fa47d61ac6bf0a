"""``ledger=`` accepts a path, a URL or an object."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.ledger import MemoryLedger, SqliteLedger, open_ledger

BUDGET = Budget(1.0, 1e-5)


def test_paths_and_urls_name_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a b.sqlite"
    first = open_ledger(path, budget=BUDGET)
    names = (str(path), "a b.sqlite", f"sqlite:///{path}", "sqlite:///a%20b.sqlite")
    for name in names:
        again = open_ledger(name)
        assert isinstance(again, SqliteLedger)
        assert again.head() == first.head()
    assert [file.name for file in tmp_path.glob("*.sqlite")] == ["a b.sqlite"]


def test_an_object_is_passed_on() -> None:
    ledger = MemoryLedger(BUDGET)
    assert open_ledger(ledger) is ledger
    assert open_ledger(ledger, budget=BUDGET, composition="basic") is ledger
    with pytest.raises(InvalidArgument, match="`budget` is fixed"):
        open_ledger(ledger, budget=Budget(2.0))
    with pytest.raises(InvalidArgument, match="`composition` is fixed"):
        open_ledger(ledger, composition="zcdp")


def test_memory_has_a_url_too() -> None:
    assert isinstance(open_ledger("memory:", budget=BUDGET), MemoryLedger)
    with pytest.raises(InvalidArgument, match="always new"):
        open_ledger("memory:")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("mysql://localhost/ledger", "scheme 'mysql'"),
        ("sqlite://ledger.sqlite", "three slashes"),
        (42, "a path, a URL or a Ledger"),
    ],
)
def test_anything_else_is_refused(where: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        open_ledger(where, budget=BUDGET)  # type: ignore[arg-type]
