"""Rows of results, one JSON line per split: appended as they come, so that a run can go on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib

Row = dict[str, Any]


class Store:
    """The lines of one file. A line that was cut short when a run was stopped does not count."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self) -> list[Row]:
        """Return what is there, by seed."""
        whole = self._text().split("\n")[:-1]
        return sorted((json.loads(line) for line in whole), key=lambda row: int(row["seed"]))

    def append(self, row: Row) -> None:
        """Write one line, after the last whole one."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self._text()
        with self.path.open("a", encoding="utf-8") as file:
            file.truncate(len(text[: text.rfind("\n") + 1].encode()))
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)

    def _text(self) -> str:
        return self.path.read_text(encoding="utf-8") if self.path.exists() else ""


def run_missing(
    store: Store, seeds: Iterable[int], run: Callable[[int], Row], jobs: int
) -> Iterator[Row]:
    """Run every seed that the store lacks, keep each as it is done, and yield it."""
    known = {row["seed"] for row in store.rows()}
    tasks = [joblib.delayed(run)(seed) for seed in seeds if seed not in known]
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    for row in parallel(tasks):
        store.append(row)
        yield row
