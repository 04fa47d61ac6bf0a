"""[LZCW21] Appendix E, Figures 3 and 4: do 250 teachers agree on Adult, and with h*?

    python -m experiments.reproduction.margins

Data: Adult in the binary encoding of a9a, which has the same records. A random three quarters
(36,631 records) are private; of the other 12,211, 2,000 are asked about: the paper's sizes. 250
logistic regressions are trained on equal shards, and h* on all private records. For a query x,
Delta(x) = |share of teachers for class 1 - 1/2| is the margin, and 1/2 - share of teachers that
differ from h* the agreement with h*: the same number where the majority is h*'s answer, its
negative elsewhere. 30 splits, ``default_rng(s).permutation``.

These are plain votes. Adult is public; of private records no such figure may be shown.

Look for: large margins on most queries, hardly any large margin against h*, and in Figure 4 a
straight line along the diagonal.
"""

from __future__ import annotations

import functools
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks._record import commit
from sklearn.linear_model import LogisticRegression

from tacit.data.pool import take
from tacit.data.sets import Labelled, load_two_classes
from tacit.errors import DataUnavailable
from tacit.teachers import equal_split
from tacit.teachers.train import train_and_count

from . import plots
from .command import interval, markdown, parser, seeds, shown, write_summary, write_table
from .data import load
from .published import ADULT_PRIVATE, ADULT_QUESTIONS
from .store import Row, Store, run_missing

TEACHERS = 250
MARGIN = "margin"
AGREEMENT = "agreement with h*"
EDGES = {MARGIN: np.linspace(0, 0.5, 21), AGREEMENT: np.linspace(-0.5, 0.5, 21)}
HIGH = 0.4
"""Nine teachers of ten on the same side."""
FIRST = 200
"""How many queries the paper's Figure 4 cumulates."""
STEPS = {"200 queries": 10, "2,000 queries": 100}


def run_split(data: Labelled, head: str | None, n_teachers: int, seed: int) -> Row:
    """Return the line of one split."""
    began = time.perf_counter()
    order = np.random.default_rng(seed).permutation(len(data.y))
    n_private = len(data.y) * ADULT_PRIVATE // 48_842
    private, asked = order[:n_private], order[n_private : n_private + ADULT_QUESTIONS]
    X, y, queries = take(data.X, private), data.y[private], take(data.X, asked)
    votes = train_and_count(
        LogisticRegression(),
        X,
        y,
        equal_split(n_private, n_teachers, np.random.default_rng([seed, 1])),
        queries,
        classes=[0, 1],
        seed=seed,
        progress=False,
    ).private_array()
    best = LogisticRegression(max_iter=1000).fit(X, y).predict(queries)
    margin = np.abs(votes[:, 1] / n_teachers - 0.5)
    with_best = votes[np.arange(len(best)), best] / n_teachers - 0.5
    return {
        "seed": seed,
        "commit": head,
        "seconds": round(time.perf_counter() - began, 2),
        "private": n_private,
        "queries": len(asked),
        **measured(margin, with_best),
        "histograms": {
            name: (np.histogram(values, EDGES[name])[0] / len(values)).round(5).tolist()
            for name, values in ((MARGIN, margin), (AGREEMENT, with_best))
        },
        "cumulated": {
            name: [
                np.cumsum(values)[step - 1 : 20 * step : step].round(4).tolist()
                for values in (margin, with_best)
            ]
            for name, step in STEPS.items()
        },
    }


def measured(margin: Any, with_best: Any) -> dict[str, Any]:
    """Return the paper's statements as numbers."""
    high, against = margin >= HIGH, with_best < 0
    return {
        "figures": {
            "mean margin": round(float(margin.mean()), 5),
            "at least 90% of the teachers agree": round(float(high.mean()), 5),
            "the majority is h*'s answer": round(float(1 - against.mean()), 5),
            "at least 90% agree, against h*": round(float((high & against).mean()), 5),
            "slope over 200 queries": round(_slope(margin[:FIRST], with_best[:FIRST]), 5),
            "slope over all queries": round(_slope(margin, with_best), 5),
            "correlation over queries": round(float(np.corrcoef(margin, with_best)[0, 1]), 5),
        }
    }


def _slope(margin: Any, with_best: Any) -> float:
    return float(with_best.sum() / margin.sum())


CLAIMS = {
    "at least 90% of the teachers agree": '"the large majority of the examples"',
    "the majority is h*'s answer": '"in most cases"',
    "at least 90% agree, against h*": '"only in very rare cases"',
    "slope over 200 queries": '"a nearly perfect linear line"',
}
"""What the text of Appendix E says where we have a number."""


def tell(out: Path, lines: list[Row], told: dict[str, Any]) -> None:
    """Write table, plots and summary of all lines there are."""
    figures = {name: [line["figures"][name] for line in lines] for name in lines[0]["figures"]}
    rows = [(name, CLAIMS.get(name, "-"), shown(values)) for name, values in figures.items()]
    text = markdown(("", "paper", "ours"), rows)
    print(text)
    write_table(out, "margins", text)
    shares = {name: _by_column([line["histograms"][name] for line in lines]) for name in EDGES}
    plots.margins(out, "figure3", EDGES, shares)
    curves = {
        name: (
            np.mean([line["cumulated"][name][0] for line in lines], axis=0),
            *_by_column([line["cumulated"][name][1] for line in lines]),
        )
        for name in STEPS
    }
    plots.cumulated(out, "figure4", curves)
    pairs = {name: [round(n, 4) for n in interval(values)] for name, values in figures.items()}
    write_summary(
        out,
        "experiments.reproduction.margins",
        "margins",
        {"splits": len(lines), **told, "mean and half of the 95% interval": pairs},
    )


def _by_column(table: list[list[float]]) -> tuple[list[float], list[float]]:
    pairs = [interval(column) for column in zip(*table, strict=True)]
    return [mean for mean, _ in pairs], [np.nan_to_num(half) for _, half in pairs]


def main(arguments: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--data", choices=("adult", "generated"), default="adult")
    options.add_argument("--teachers", type=int, default=TEACHERS)
    given = options.parse_args(arguments)
    try:
        data = load_two_classes("a9a") if given.data == "adult" else load(given.data)
    except DataUnavailable as reason:
        print(f"skipped: {reason}")
        return
    store = Store(given.out / "results" / f"reproduction_margins_{given.data}.jsonl")
    if given.fresh:
        store.clear()
    began, done = time.perf_counter(), 0
    run = functools.partial(run_split, data, commit(), given.teachers)
    for row in run_missing(store, seeds(given.splits), run, given.jobs):
        done += 1
        print(given.data, row["seed"], row["seconds"], "s", flush=True)
    lines = store.rows()
    complete = {"seconds in all": round(time.perf_counter() - began, 1), "processes": given.jobs}
    tell(given.out, lines, complete if done == len(lines) else {})


if __name__ == "__main__":
    main()
