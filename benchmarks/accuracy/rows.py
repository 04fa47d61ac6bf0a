"""Rows of results: one per method, data set, epsilon, split and settings, in a file per method.

A row that is there is not made again, so a run that was stopped goes on, and runs on several
machines add up by putting their files together.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks._record import RESULTS

FOLDER = RESULTS / "accuracy"
Key = tuple[str, str, float | None, int, str]


@dataclass(frozen=True)
class Row:
    """One measurement. ``epsilon`` is None without privacy; ``settings`` are text, for keys."""

    method: str
    data: str
    epsilon: float | None
    split: int
    settings: str
    accuracy: float

    @property
    def key(self) -> Key:
        return self.method, self.data, self.epsilon, self.split, self.settings


def as_text(settings: Mapping[str, Any]) -> str:
    """Return settings as text that is the same for equal settings."""
    return json.dumps(settings, sort_keys=True)


def read(method: str, folder: Path = FOLDER) -> list[Row]:
    """Return the rows of a method; the last one where a key occurs twice.

    A line that a stopped run left unfinished is passed over: its row is made again.
    """
    path = folder / f"{method}.jsonl"
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(Row(**json.loads(line)))
    return list({row.key: row for row in found}.values())


def append(rows: Iterable[Row], folder: Path = FOLDER) -> None:
    """Write rows at the end of their method's file."""
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        path = folder / f"{row.method}.jsonl"
        cut = path.exists() and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as log:
            log.write("\n" * cut + json.dumps(asdict(row)) + "\n")
