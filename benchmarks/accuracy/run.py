"""Measure methods on splits of the data sets.

    python -m benchmarks.accuracy.run --splits 0:5 --settings every --jobs 2      # to tune
    python -m benchmarks.accuracy.choose --splits 0:5
    python -m benchmarks.accuracy.run --splits 200:220 --jobs 16                  # the figures

from the root of the checkout, with ``TACIT_DATA_DIR`` set. ``--methods psq,asq`` and ``--data a9a``
measure some. Rows go to ``results/accuracy/<method>.jsonl`` as they come; what is there is not
measured again. Methods of other libraries make environments of their own on first use, which needs
a network; the others run anywhere.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import joblib
from benchmarks._record import commit, machine
from benchmarks.accuracy.choose import CHOSEN, chosen
from benchmarks.accuracy.data import DATA, Split, load
from benchmarks.accuracy.methods import METHODS, Method, Settings
from benchmarks.accuracy.rows import FOLDER, Key, Row, append, as_text, read

EPSILONS = (0.5, 1.0, 2.0)
FINAL = range(200, 220)
"""Splits for the figures: no choice may see them."""


def measure(name: str, split: Split, data: str, missing: Sequence[Key]) -> list[Row]:
    """Return one row for every missing key, all of one method and one split."""
    wanted = [(key[2] or 0.0, json.loads(key[4])) for key in missing]
    scores = METHODS[name].score(split, wanted)
    return [Row(*key, round(score, 5)) for key, score in zip(missing, scores, strict=True)]


def keys(
    name: str, data: str, seed: int, settings: Iterable[Settings], epsilons: Sequence[float]
) -> list[Key]:
    """Return the keys of all rows that one split of one method should have."""
    levels: Sequence[float | None] = epsilons if METHODS[name].private else (None,)
    texts = dict.fromkeys(as_text(one) for one in settings)
    return [(name, data, epsilon, seed, text) for text in texts for epsilon in levels]


def settings_of(name: str, data: str, which: str) -> list[Settings]:
    """Return the settings to run: every one that may be chosen, or those that were."""
    method = METHODS[name]
    if which == "every" or not method.tuned:
        return list(method.settings)
    found = chosen() if CHOSEN.exists() else {}
    if name not in found:
        raise SystemExit(
            f"nothing was chosen for {name}: run it with --settings every on development splits, "
            "then python -m benchmarks.accuracy.choose"
        )
    first = [method.settings[0]] if method.first else []
    each = [found[name]["each"][data]] if data in found[name]["each"] else []
    return [*first, found[name]["all"], *each]


def _task(name: str, data: str, seed: int, missing: Sequence[Key]) -> list[Row]:
    return measure(name, Split(*load(data), seed), data, missing)


def _runs_on(method: Method, data: str) -> bool:
    return method.data is None or data in method.data


def run(
    methods: Sequence[str],
    data: Sequence[str],
    splits: Iterable[int],
    which: str,
    *,
    epsilons: Sequence[float] = EPSILONS,
    jobs: int = 1,
    folder: Path = FOLDER,
) -> None:
    """Make every row that is not there yet."""
    splits = list(splits)
    if which == "every" and set(splits) & set(FINAL):
        raise SystemExit("splits 200 to 219 are for the figures: choose settings on others.")
    known = {row.key for name in methods for row in read(name, folder)}
    tasks = []
    for name in methods:
        for where in (one for one in data if _runs_on(METHODS[name], one)):
            settings = settings_of(name, where, which)
            for seed in splits:
                wanted = keys(name, where, seed, settings, epsilons)
                missing = [key for key in wanted if key not in known]
                if missing:
                    tasks.append(joblib.delayed(_task)(name, where, seed, missing))
    began = time.perf_counter()
    parallel = joblib.Parallel(jobs, return_as="generator_unordered", batch_size=1)
    for number, rows in enumerate(parallel(tasks), 1):
        append(rows, folder)
        seconds = time.perf_counter() - began
        print(f"{number}/{len(tasks)} {rows[0].method} {rows[0].data} {seconds:.0f} s", flush=True)
    if tasks:
        _log_run(methods, data, splits, which, jobs, time.perf_counter() - began, folder)


def _log_run(
    methods: Sequence[str],
    data: Sequence[str],
    splits: Sequence[int],
    which: str,
    jobs: int,
    seconds: float,
    folder: Path,
) -> None:
    """Note at the end of a run where and from which commit its rows came."""
    record = {
        "methods": list(methods),
        "data": list(data),
        "splits": [min(splits), max(splits) + 1],
        "settings": which,
        "jobs": jobs,
        "seconds": round(seconds),
        "commit": commit(),
        "machine": machine(),
    }
    with (folder / "runs.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--methods", default=",".join(METHODS), help=", ".join(METHODS))
    parser.add_argument("--data", default=",".join(DATA), help=", ".join(DATA))
    parser.add_argument("--splits", default="200:220", help="first:last+1 seeds")
    parser.add_argument("--settings", choices=("chosen", "every"), default="chosen")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
    methods, data = arguments.methods.split(","), arguments.data.split(",")
    for given, offered in ((methods, METHODS), (data, DATA)):
        unknown = [name for name in given if name not in offered]
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(offered)}")
    first, last = map(int, arguments.splits.split(":"))
    run(methods, data, range(first, last), arguments.settings, jobs=arguments.jobs)


if __name__ == "__main__":
    main()
