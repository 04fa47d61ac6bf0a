"""One record, or one person, more, less or other: what the guarantee compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tests.neighbours.hostile import Cell, hostile
from tests.neighbours.tables import STRANGERS, Column, Table


@dataclass(frozen=True)
class Change:
    """How an ordinary record becomes another one.

    ``among`` are the values that stand for hostile cells; ``label`` writes the k-th class and
    ``person`` the k-th identifier.
    """

    columns: tuple[Column, ...]
    label: Callable[[int], Cell]
    person: Callable[[int], Cell]
    n_classes: int
    among: tuple[Cell, ...]

    def record(self, rng: np.random.Generator) -> tuple[list[Cell], Cell]:
        """Return the cells and the label of another record."""
        cells = [column.draw(rng, public=False) for column in self.columns]
        style = rng.random()
        if style < 0.6 and cells:
            cells[int(rng.integers(len(cells)))] = hostile(rng, self.among)
        elif style < 0.85:
            cells = [hostile(rng, self.among) for _ in cells]
        label = self.label(int(rng.integers(self.n_classes)))
        if rng.random() < 0.35:
            label = hostile(rng)
        return cells, label


def replace_record(table: Table, change: Change, rng: np.random.Generator) -> Table:
    """Replace one record; it keeps its place."""
    at = int(rng.integers(table.n_rows))
    cells, label = change.record(rng)
    person = None if table.people is None else table.people[at]
    return table.with_row(at, cells, label, person)


def replace_label(table: Table, change: Change, rng: np.random.Generator) -> Table:
    """Replace the label of one record and nothing else."""
    at = int(rng.integers(table.n_rows))
    _, label = change.record(rng)
    row = [column[at] for column in table.columns]
    return table.with_row(at, row, label, None if table.people is None else table.people[at])


def replace_person(table: Table, change: Change, rng: np.random.Generator) -> Table:
    """Replace one person, who keeps the place in the order in which people appear.

    The other person may have more records, or fewer, and mostly another identifier.
    """
    assert table.people is not None
    person = table.people[int(rng.integers(table.n_rows))]
    rows = _rows_of(table, person)
    name = _stranger(table, change, rng) if rng.random() < 0.7 else person
    for at in rows:
        cells, label = change.record(rng)
        table = table.with_row(at, cells, label, name)
    if rng.random() < 0.3 and len(rows) > 1:
        return table.without(rows[1:])
    if rng.random() < 0.3:
        cells, label = change.record(rng)
        return table.with_inserted(int(rng.integers(rows[0] + 1, table.n_rows + 1)),
                                   cells, label, name)  # fmt: skip
    return table


def add_person(table: Table, change: Change, rng: np.random.Generator) -> Table:
    """Add one person with one to three records, anywhere."""
    name = _stranger(table, change, rng)
    for _ in range(int(rng.integers(1, 4))):
        cells, label = change.record(rng)
        at = int(rng.integers(table.n_rows + 1))
        table = table.with_inserted(at, cells, label, name)
    return table


def _rows_of(table: Table, person: Cell) -> list[int]:
    people = table.people or []
    return [at for at, one in enumerate(people) if type(one) is type(person) and one == person]


def _stranger(table: Table, change: Change, rng: np.random.Generator) -> Cell:
    """Return an identifier that nobody in the table has."""
    if rng.random() < 0.3:
        return change.person(table.n_rows + int(rng.integers(1, 50)))
    return STRANGERS[int(rng.integers(len(STRANGERS)))]
