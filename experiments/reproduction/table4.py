"""[LZCW21] Table 4: accuracy of PATE-PSQ and PATE-ASQ, private and not, over 30 random splits.

    python -m experiments.reproduction.table4 --data mushrooms

Data: mushrooms, a9a, real-sim (give its place with ``--path``; left out with a reason when it is
not there), newsgroups (20 newsgroups as two classes: our stand-in for real-sim, not the same data).
80% private, 2% the pool, 18% test; 100 records a teacher; epsilon 0.5, 1, 2; delta one over the
number of private records; one record replaced. Split s is ``default_rng(s).permutation``; privacy
noise is secure and has no seed.

Each split is one line of ``results/reproduction_table4_<data>.jsonl``, written when it is done: a
second run goes on where the first stopped, ``--fresh`` starts anew. ``--c0`` sets how cautious the
active learner is, which the paper leaves open. Look for: the paper's number beside ours, for three
linear students of the same answers, and with the noise of Algorithm 1 as printed.
"""

from __future__ import annotations

import functools
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._record import commit

from tacit.data.sets import Labelled
from tacit.errors import DataUnavailable
from tacit.students.active import YanDBAL

from . import plots
from .command import interval, markdown, parser, seeds, shown, write_summary, write_table
from .data import DATA, load
from .protocol import STUDENTS, Split, Variant, variants
from .published import EPSILONS, METHODS, STAND_IN, printed
from .store import Row, Store, run_missing


def run_split(name: str, data: Labelled, c0: float, head: str | None, seed: int) -> Row:
    """Return the line of one split."""
    began, busy = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # balanced accuracy, where a student says one class only
        split = Split(data, seed, c0)
        rows = [split.run(variant) for variant in variants()]
        references = split.references()
    return {
        "data": name,
        "seed": seed,
        "commit": head,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu seconds": round(time.process_time() - busy, 2),
        "c0": c0,
        "points": len(split.names),
        "teachers": split.sizes.teachers,
        "references": references,
        "rows": rows,
    }


def of(lines: Iterable[Row], variant: Variant) -> list[dict[str, Any]]:
    """Return a variant's row on every split."""
    wanted = variant.name, variant.epsilon, variant.calibration
    return [
        row
        for line in lines
        for row in line["rows"]
        if (row["method"], row["epsilon"], row["calibration"]) == wanted
    ]


def accuracies(rows: Iterable[dict[str, Any]], student: str, what: str = "accuracy") -> list[float]:
    """Return a student's accuracy on every split."""
    return [row["students"][student][what] for row in rows]


def table(name: str, lines: list[Row], calibration: str) -> str:
    """Return the paper's row beside ours."""
    paper = _paper(name)
    head = (
        "method",
        "ε",
        f"questions: {paper} / ours",
        f"ε ex post, {paper} / spent, ours",
        f"accuracy: {paper}",
        *(f"ours: {student}" for student in STUDENTS),
    )
    body = []
    for variant in variants():
        rows = of(lines, variant)
        if variant.calibration == calibration and rows:
            body.append([*_beside(name, variant, rows)])
    return markdown(head, body)


def _beside(name: str, variant: Variant, rows: list[dict[str, Any]]) -> Iterable[str]:
    given = printed(name, variant.method, variant.epsilon)
    yield variant.name
    yield "∞" if variant.epsilon is None else f"{variant.epsilon:g}"
    asked = shown([row["asked"] for row in rows], 1)
    yield f"{given.questions:g} / {asked}" if given else f"- / {asked}"
    if variant.epsilon is None:
        yield "-"
    else:
        spent = f"{np.mean([row['spent'] for row in rows]):.4f}"
        yield f"{given.ex_post:g} / {spent}" if given else f"- / {spent}"
    yield f"{given.accuracy:.4f} ± {given.interval:.4f}" if given else "-"
    for student in STUDENTS:
        yield shown(accuracies(rows, student))


def summary(name: str, lines: list[Row]) -> list[dict[str, Any]]:
    """Return means, intervals and the paper's number, for programs."""
    found = []
    for variant in variants():
        rows = of(lines, variant)
        given = printed(name, variant.method, variant.epsilon)
        entry: dict[str, Any] = {
            "method": variant.name,
            "epsilon": variant.epsilon,
            "calibration": variant.calibration,
            "paper": given and given.accuracy,
            "questions": _pair([row["asked"] for row in rows]),
            "right labels": _pair([row["right"] for row in rows]),
        }
        if variant.epsilon is not None:
            entry["sigma"] = rows[0]["sigma"]
            entry["spent"] = _pair([row["spent"] for row in rows])
        for student in STUDENTS:
            values = accuracies(rows, student)
            entry[student] = {
                "accuracy": _pair(values),
                "deviation": round(float(np.std(values, ddof=min(1, len(values) - 1))), 4),
                "balanced": _pair(accuracies(rows, student, "balanced")),
            }
        found.append(entry)
    return found


def gains(lines: list[Row]) -> list[dict[str, Any]]:
    """Return ASQ less PSQ on the same split, with the interval of the paired difference."""
    found = []
    for epsilon in EPSILONS:
        both = [of(lines, Variant(method, epsilon, "exact")) for method in METHODS]
        for student in STUDENTS:
            passive, active = (accuracies(rows, student) for rows in both)
            difference = [a - p for a, p in zip(active, passive, strict=True)]
            found.append({"epsilon": epsilon, "student": student, "gain": _pair(difference)})
    return found


def gain_table(name: str, lines: list[Row]) -> str:
    """Return the paper's gain of active questions beside ours."""
    found, rows = gains(lines), []
    for epsilon in EPSILONS:
        passive, active = (printed(name, method, epsilon) for method in METHODS)
        paper = f"{active.accuracy - passive.accuracy:+.4f}" if passive and active else "-"
        mine = [one["gain"] for one in found if one["epsilon"] == epsilon]
        shown_ = [f"{mean:+.4f} ± {half:.4f}" if half else f"{mean:+.4f}" for mean, half in mine]
        rows.append(["∞" if epsilon is None else f"{epsilon:g}", paper, *shown_])
    return markdown(("ε", _paper(name), *(f"ours: {student}" for student in STUDENTS)), rows)


def _paper(name: str) -> str:
    """Return whose numbers stand beside ours."""
    return f"paper, on {STAND_IN[name]}" if name in STAND_IN else "paper"


def _pair(values: Iterable[float]) -> list[float | None]:
    mean, half = interval(values)
    return [round(mean, 4), None if np.isnan(half) else round(half, 4)]


def tell(name: str, stem: str, out: Path, lines: list[Row], told: dict[str, Any]) -> None:
    """Write summary, tables and plot of all lines there are, under names with ``stem``."""
    references = {
        key: _pair([line["references"][key] for line in lines]) for key in lines[0]["references"]
    }
    tables = {how: table(name, lines, how) for how in ("exact", "zcdp")}
    print(tables["exact"], gain_table(name, lines), tables["zcdp"], references, sep="\n")
    write_table(out, stem, tables["exact"])
    write_table(out, f"{stem}_gain", gain_table(name, lines))
    write_table(out, f"{stem}_zcdp", tables["zcdp"])
    plots.table4(out, name, stem, summary(name, lines), references["larger class"][0])
    write_summary(
        out,
        "experiments.reproduction.table4",
        stem,
        {
            "splits": len(lines),
            **told,
            "mean and half of the 95% interval": {
                "references": references,
                "rows": summary(name, lines),
                "ASQ less PSQ, paired": gains(lines),
            },
        },
    )


def main(arguments: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--data", choices=DATA, default="mushrooms")
    options.add_argument("--path", type=Path, help="the file of real-sim")
    options.add_argument("--c0", type=float, default=YanDBAL.c0, help="caution of the learner")
    given = options.parse_args(arguments)
    try:
        data = load(given.data, given.path)
    except DataUnavailable as reason:
        print(f"skipped: {reason}")
        return
    stem = f"table4_{given.data}" + ("" if given.c0 == YanDBAL.c0 else f"_c0_{given.c0:g}")
    store = Store(given.out / "results" / f"reproduction_{stem}.jsonl")
    if given.fresh:
        store.clear()
    began, done = time.perf_counter(), 0
    run = functools.partial(run_split, given.data, data, given.c0, commit())
    for row in run_missing(store, seeds(given.splits), run, given.jobs):
        done += 1
        print(given.data, row["seed"], row["seconds"], "s", flush=True)
    lines = store.rows()
    clocks = ("seconds", "cpu seconds")
    told: dict[str, Any] = {f"{c} a split": _pair([line[c] for line in lines]) for c in clocks}
    told["cpu seconds, all splits"] = round(sum(line["cpu seconds"] for line in lines), 1)
    if done == len(lines):
        told["seconds in all"] = round(time.perf_counter() - began, 1)
        told["processes"] = given.jobs
    tell(given.data, stem, given.out, lines, told)


if __name__ == "__main__":
    main()
