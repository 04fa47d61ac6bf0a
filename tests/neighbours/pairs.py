"""A pair of neighbouring tables with everything else that a run needs, drawn from one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.neighbours import containers, neighbours
from tests.neighbours.hostile import EVERYTHING, LINES, MACHINE_NUMBERS, Cell
from tests.neighbours.tables import LABELS, PEOPLE, Column, Table, draw_column

PATHS = {"votes": 0.5, "corrections": 0.2, "oracle": 0.2, "shards": 0.05, "labels": 0.05}
"""How often each path through the Python API is drawn: ``PATEClassifier`` with votes and with
rounds, ``PrivateOracle``, shard folders, and ``protect="labels"``. ``fit`` is the command line."""


@dataclass(frozen=True, repr=False)
class Pair:
    """Two neighbouring tables, the pool they share, and how all of it is put together.

    ``raw`` are whole lines that replace records in text files, one dictionary per side.
    """

    seed: int
    path: str
    relation: str
    form: str
    container: str
    pool_container: str
    label_container: str
    people_container: str
    columns: tuple[Column, ...]
    pool: dict[str, list[Cell]]
    tables: tuple[Table, Table]
    raw: tuple[dict[int, bytes], dict[int, bytes]]
    classes: list[Any]
    label_style: str
    people_style: str | None
    n_teachers: int
    settings: int

    def describe(self) -> dict[str, Any]:
        """Return what a log says of the pair."""
        return {
            "seed": self.seed, "path": self.path, "relation": self.relation, "form": self.form,
            "container": self.container, "pool": self.pool_container,
            "labels": f"{self.label_style} in {self.label_container}",
            "people": None if self.people_style is None
            else f"{self.people_style} in {self.people_container}",
            "columns": [f"{c.kind}: {c.pool} / {c.private}" for c in self.columns],
            "change": self.change(),
        }  # fmt: skip

    def change(self) -> str:
        """Return what differs between the two tables, shortened."""
        first, second = (self._flat(side) for side in (0, 1))
        only = [_short(row) for row in second if row not in first]
        gone = [_short(row) for row in first if row not in second]
        return f"{' '.join(gone)[:150]} -> {' '.join(only)[:150]}"

    def _flat(self, side: int) -> list[str]:
        table = self.tables[side]
        people = table.people or [None] * table.n_rows
        rows = zip(table.rows(), table.labels, people, strict=True)
        lines = [_text([*row, label, person]) for row, label, person in rows]
        for at, line in self.raw[side].items():
            lines[at] = repr(line)
        return lines


def _text(cells: Sequence[Cell]) -> str:
    return "|".join(_safe(cell) for cell in cells)


def _safe(cell: Cell) -> str:
    try:
        return ascii(cell)
    except Exception:
        return type(cell).__name__


def _short(row: str) -> str:
    return row if len(row) < 120 else row[:120] + "..."


def choose(rng: np.random.Generator, among: Sequence[Any]) -> Any:
    """Return one of several things."""
    return among[int(rng.integers(len(among)))]


def draw_pair(seed: int, path: str | None = None) -> Pair:
    """Return the pair of a seed; equal seeds give equal pairs."""
    rng = np.random.default_rng([20, seed])
    drawn = str(rng.choice(list(PATHS), p=list(PATHS.values())))
    path = drawn if path is None else path
    relation = choose(rng, ("replace", "add-remove"))
    grouped = relation == "add-remove" or rng.random() < 0.25
    form, container, pool_container = _draw_container(rng, path)
    if path == "shards":
        relation, grouped = "add-remove", True
    elif path == "labels" or container == "libsvm":
        relation, grouped = "replace", False
    columns = _draw_columns(rng, form)
    label_style = choose(rng, tuple(LABELS))
    classes, label = LABELS[label_style]
    people_style = choose(rng, tuple(PEOPLE)) if grouped else None
    n_teachers = int(rng.integers(5, 21))
    table = _draw_table(rng, columns, label, len(classes), people_style, n_teachers)
    change = neighbours.Change(
        columns, label, PEOPLE[people_style or "int"], len(classes),
        MACHINE_NUMBERS if form == "sparse" else EVERYTHING,
    )  # fmt: skip
    if relation == "add-remove":
        tables = (table, neighbours.add_person(table, change, rng))
        tables = tables if rng.random() < 0.5 else (tables[1], tables[0])
    elif path == "labels":
        tables = (table, neighbours.replace_label(table, change, rng))
    elif grouped:
        tables = (table, neighbours.replace_person(table, change, rng))
    else:
        tables = (table, neighbours.replace_record(table, change, rng))
    raw: tuple[dict[int, bytes], dict[int, bytes]] = ({}, {})
    if container in ("csv", "libsvm") and rng.random() < 0.4:
        if relation == "add-remove" or not grouped:
            tables, raw = _draw_line(rng, table, relation)
    n_points = int(rng.integers(8, 14))
    pool = {
        f"c{at}": [column.draw(rng, public=True) for _ in range(n_points)]
        for at, column in enumerate(columns)
    }
    return Pair(
        seed, path, relation, form, container, pool_container,
        choose(rng, containers.vectors()), choose(rng, containers.vectors()), columns, pool, tables,
        raw, classes, label_style, people_style, n_teachers, int(rng.integers(2**31)),
    )  # fmt: skip


def _draw_container(rng: np.random.Generator, path: str) -> tuple[str, str, str]:
    """Return the form of a point, and how records and pool are held."""
    if path in ("shards", "fit"):
        names = ("csv", "csv", "parquet", "libsvm")
        name = choose(rng, names[:3] if path == "shards" else names)
        return ("sparse" if name == "libsvm" else "frame"), name, name
    found = containers.families()
    family = choose(rng, ("pandas", "pandas", "pandas", "arrays", "sparse", "texts", *found))
    if family == "texts":
        name = choose(rng, containers.vectors())
        return "texts", name, name
    names = found[family]
    first, second = choose(rng, (*names[:1], *names[:1], *names)), choose(rng, names)
    form = {"pandas": "frame", "polars": "frame", "arrow": "frame", "arrays": "numbers"}.get(
        family, family
    )
    if family == "arrays" and rng.random() < 0.2:
        form = "frame"
    if family != "pandas" or rng.random() < 0.5:
        second = first
    return form, first, second


def _draw_columns(rng: np.random.Generator, form: str) -> tuple[Column, ...]:
    if form == "texts":
        return (Column("text", "sentence", "sentence"),)
    numeric = form in ("numbers", "sparse")
    return tuple(draw_column(rng, numeric=numeric) for _ in range(int(rng.integers(1, 5))))


def _draw_table(
    rng: np.random.Generator,
    columns: tuple[Column, ...],
    label: Any,
    n_classes: int,
    people_style: str | None,
    n_teachers: int,
) -> Table:
    # Numbers of people at which a rounded size of a shard changes are drawn as often as others.
    n = int(rng.integers(3 * n_teachers, 6 * n_teachers))
    if rng.random() < 0.5:
        n = int(n_teachers * (int(rng.integers(6, 12)) / 2)) + int(rng.integers(-1, 2))
    owner = np.arange(n)
    if people_style is not None and rng.random() < 0.7:
        owner = np.sort(np.concatenate([owner, rng.integers(n, size=n // 3)]))
        if rng.random() < 0.5:
            owner = rng.permutation(owner)
    names = tuple(f"c{at}" for at in range(len(columns)))
    cells = tuple([column.draw(rng, public=False) for _ in owner] for column in columns)
    labels = [label(int(rng.integers(n_classes))) for _ in owner]
    people = None if people_style is None else [PEOPLE[people_style](int(k)) for k in owner]
    return Table(names, cells, labels, people)


def _draw_line(
    rng: np.random.Generator, table: Table, relation: str
) -> tuple[tuple[Table, Table], tuple[dict[int, bytes], dict[int, bytes]]]:
    """Return neighbours one of which has a line that is no good row, in place of a record or new.

    Such a line names nobody in the table.
    """
    at, line = int(rng.integers(table.n_rows)), LINES[int(rng.integers(len(LINES)))]
    other = table
    if relation == "add-remove":
        other = table.with_inserted(at, [column[at] for column in table.columns], "", "")
    if rng.random() < 0.5:
        return (table, other), ({}, {at: line})
    return (other, table), ({at: line}, {})
