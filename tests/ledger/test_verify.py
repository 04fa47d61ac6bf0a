"""The walk recomputes every count: a chain forged with right hashes must also add up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.ledger_contract import BUDGET, CountingRelease, plan_of

from tacit.errors import LedgerCorrupt
from tacit.ledger import Analyst, MemoryLedger
from tacit.ledger.chain import Creation, Row, RowKind, encode_analyst, link
from tacit.ledger.verify import verify_rows

# Rows: 0 creation, 1 plan, 2 answer x, 3 alice, 4 x shown, 5 answer y, 6 y shown, 7 bob, 8 x shown.


@pytest.fixture
def rows() -> list[Row]:
    ledger = MemoryLedger(BUDGET)
    plan = ledger.open_plan(plan_of(0.5), "a")
    for name, question in (("alice", b"x"), ("alice", b"y"), ("bob", b"x")):
        ledger.answer(plan, [question], CountingRelease(), on_behalf=Analyst(name, period=3))
    ledger.verify()
    return list(ledger._rows.rows())


def forged(rows: list[Row]) -> list[Row]:
    """Compute every number and hash anew, as whoever can write the ledger could."""
    chain: list[Row] = []
    for row in rows:
        chain.append(link(chain[-1] if chain else None, RowKind(row.kind), row.body, row.owner))
    return chain


FORGERIES: dict[str, tuple[Callable[[list[Row]], list[Row]], str]] = {
    "forget that alice saw y": (lambda rows: [*rows[:6], *rows[7:]], "Row 7 was shown to an"),
    "forget the first answer": (
        lambda rows: [*rows[:2], *rows[3:]],
        "Row 2 names an analyst|Row 3 was shown",
    ),
    "an answer shown that was never given": (
        lambda rows: [*rows[:5], rows[6]],
        "Row 5 shows an answer that is not recorded",
    ),
    "shown twice": (lambda rows: [*rows, rows[8]], "Row 9 shows an answer a second time"),
    "named twice": (lambda rows: [*rows, rows[3]], "Row 9 names an analyst a second time"),
    "a name with another's hash": (
        lambda rows: [*rows, rows[3]._replace(body=rows[3].body[:32] + b"carol")],
        "Row 9 cannot be read",
    ),
    "an analyst of no plan": (
        lambda rows: [*rows, rows[3]._replace(body=encode_analyst("carol"), owner=2)],
        "Row 9 names an analyst under a plan",
    ),
    "an account made smaller": (
        lambda rows: [*rows[:6], rows[6]._replace(body=rows[6].body[:40] + bytes(64)), *rows[7:]],
        "Row 6 counts something else",
    ),
    "an account of another size": (
        lambda rows: [*rows[:6], rows[6]._replace(body=rows[6].body[:40])],
        "Row 6 cannot be read",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_accounts_of_analysts_are_found(rows: list[Row], name: str) -> None:
    forge, message = FORGERIES[name]
    creation = Creation.decode(rows[0].body)
    assert verify_rows(forged(rows), creation, None) == rows[-1]
    with pytest.raises(LedgerCorrupt, match=message) as found:
        verify_rows(forged(forge(rows)), creation, None)
    assert found.value.row is not None
