"""Every ledger keeps the same contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support.ledger_contract import LEDGER_CHECKS, MakeLedger
from tests.support.postgres import PostgresServer

from tacit.accounting.budget import Budget
from tacit.ledger import (
    Composition,
    Ledger,
    MemoryLedger,
    PostgresLedger,
    SqliteLedger,
)

Factory = Callable[[pytest.FixtureRequest], MakeLedger]


def _memory(request: pytest.FixtureRequest) -> MakeLedger:
    return lambda budget, composition: MemoryLedger(budget, composition=composition)


def _sqlite(request: pytest.FixtureRequest) -> MakeLedger:
    folder: Path = request.getfixturevalue("tmp_path")

    def make(budget: Budget, composition: Composition) -> Ledger:
        path = folder / f"{next(NAMES)}.sqlite"
        return SqliteLedger(path, budget=budget, composition=composition, allow_insecure=True)

    return make


def _postgres(request: pytest.FixtureRequest) -> MakeLedger:
    server: PostgresServer = request.getfixturevalue("postgres_server")

    def make(budget: Budget, composition: Composition) -> Ledger:
        url = server.create_schema(f"contract_{next(NAMES)}")
        return PostgresLedger(url, budget=budget, composition=composition, allow_insecure=True)

    return make


NAMES = itertools.count()
FACTORIES: dict[type[Ledger], Factory] = {
    MemoryLedger: _memory,
    SqliteLedger: _sqlite,
    PostgresLedger: _postgres,
}
KINDS = [
    MemoryLedger,
    SqliteLedger,
    pytest.param(PostgresLedger, marks=pytest.mark.needs("postgres")),
]


def _implementations(base: type[Ledger] = Ledger) -> Iterator[type[Ledger]]:
    for kind in base.__subclasses__():
        below = list(_implementations(kind))
        if kind.__module__.startswith("tacit.") and not below:
            yield kind
        yield from below


def test_every_implementation_is_under_contract() -> None:
    assert set(_implementations()) == set(FACTORIES)


@pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_ledger(
    kind: type[Ledger], check: Callable[[MakeLedger], None], request: pytest.FixtureRequest
) -> None:
    check(FACTORIES[kind](request))
