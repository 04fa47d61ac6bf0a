"""Every ledger keeps the same contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Composition, Ledger, MemoryLedger, SqliteLedger
from tacit.privacy.ledger.rows import RowLedger
from tacit.testing.ledger_contract import LEDGER_CHECKS, MakeLedger

Factory = Callable[[Path], MakeLedger]


def _memory(folder: Path) -> MakeLedger:
    return lambda budget, composition: MemoryLedger(budget, composition=composition)


def _sqlite(folder: Path) -> MakeLedger:
    names = itertools.count()

    def make(budget: Budget, composition: Composition) -> Ledger:
        path = folder / f"{next(names)}.sqlite"
        return SqliteLedger(path, budget=budget, composition=composition, allow_insecure=True)

    return make


FACTORIES: dict[type[RowLedger], Factory] = {MemoryLedger: _memory, SqliteLedger: _sqlite}


def _implementations(base: type[RowLedger] = RowLedger) -> Iterator[type[RowLedger]]:
    for kind in base.__subclasses__():
        if kind.__module__.startswith("tacit."):
            yield kind
        yield from _implementations(kind)


def test_every_implementation_is_under_contract() -> None:
    assert set(_implementations()) == set(FACTORIES)


@pytest.mark.parametrize("check", LEDGER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", FACTORIES, ids=lambda kind: kind.__name__)
def test_ledger(kind: type[RowLedger], check: Callable[[MakeLedger], None], tmp_path: Path) -> None:
    check(FACTORIES[kind](tmp_path))
