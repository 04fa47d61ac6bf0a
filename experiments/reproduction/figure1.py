"""[LZCW21] Figure 1 and Example 2: where voting fails, and where it wins.

    python -m experiments.reproduction.figure1

Figure 1: four points, all labelled 1, and three hypotheses that are each right on half of them.
Voters are minimisers of the empirical risk on shards of 100 records. Example 2: voters that are
right on a point with probability 1/2 + xi. Votes are plain, without noise: what fails is voting,
not privacy. Samples are drawn from ``default_rng([split, voters])``; ``exact`` is computed from the
binomial law of the votes.

Look for: the error of the vote going from 0.5 to 0.75 as voters are added, and in Example 2 to 0,
below the bound that is printed.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from benchmarks._record import commit
from experiments.agnostic_routes.problem import figure_1
from scipy import stats

from tacit.mechanisms.prediction import consistent_teachers, teacher_votes
from tacit.planning.bounds.lzcw21 import voting_fails, voting_wins

from . import plots
from .command import interval, markdown, parser, seeds, shown, write_summary, write_table
from .store import Row, Store, run_missing

VOTERS = (1, 3, 9, 27, 81, 243)
RECORDS = 100
XI = 0.1


def run_sample(head: str | None, seed: int) -> Row:
    """Return the error of the vote for every number of voters, on one sample each."""
    problem, errors, wins = figure_1(), {}, {}
    for voters in VOTERS:
        rng = np.random.default_rng([seed, voters])
        X, y = problem.sample(voters * RECORDS, rng)
        teachers = consistent_teachers(problem.hypotheses, X, y == 1, voters)
        counts = teacher_votes(problem.hypotheses, teachers, problem.points)
        errors[str(voters)] = problem.error((counts[:, 1] >= counts[:, 0]).astype(int))
        right = rng.binomial(voters, 0.5 + XI, size=1000)
        wins[str(voters)] = float(np.mean(2 * right < voters))
    return {"seed": seed, "commit": head, "fails": errors, "wins": wins}


def failing(voters: int) -> float:
    """Return the expected error of a vote of teachers drawn evenly from the three hypotheses."""
    return 0.75 * float(stats.binom.cdf(np.ceil(voters / 2) - 1, voters, 1 / 3))


def winning(voters: int) -> float:
    """Return the probability that a vote of independent voters is wrong; a tie is right."""
    return float(stats.binom.cdf(np.ceil(voters / 2) - 1, voters, 0.5 + XI))


def printed_table() -> str:
    """Return the table that is Figure 1, from the problem as it is run."""
    problem = figure_1()
    labels = [[int(value) for value in problem.labels]]
    hypotheses = [
        row.astype(int).tolist()
        for block in problem.hypotheses.dichotomies(problem.points)
        for row in block.labels
    ]
    vote = [int(2 * sum(column) >= len(column)) for column in zip(*hypotheses, strict=True)]
    names = ["y", *(f"h{k}" for k in range(1, len(hypotheses) + 1)), "vote"]
    table = [*labels, *hypotheses, vote]
    rows = [
        [name, *row, f"{problem.error(np.array(row)):g}"]
        for name, row in zip(names, table, strict=True)
    ]
    return markdown(("", "x1", "x2", "x3", "x4", "error"), rows)


def curves(lines: list[Row], key: str) -> tuple[Any, Any, Any]:
    """Return voters, mean errors and halves of their intervals."""
    pairs = [interval(line[key][str(voters)] for line in lines) for voters in VOTERS]
    return VOTERS, [mean for mean, _ in pairs], [np.nan_to_num(half) for _, half in pairs]


def tell(out: Any, lines: list[Row], told: dict[str, Any]) -> None:
    """Write tables, plot and summary of all lines there are."""
    rows = [
        (
            voters,
            shown(line["fails"][str(voters)] for line in lines),
            f"{failing(voters):.4f}",
            shown(line["wins"][str(voters)] for line in lines),
            f"{winning(voters):.4f}",
            f"{voting_wins(voters, XI):.4f}",
        )
        for voters in VOTERS
    ]
    head = (
        "voters",
        "Figure 1: error of the vote",
        "exact",
        f"Example 2, ξ = {XI:g}: error of the vote",
        "exact",
        "bound as printed",
    )
    text = printed_table() + "\n" + markdown(head, rows)
    print(text)
    write_table(out, "figure1", text)
    each, limit = voting_fails()
    fine = np.unique(np.geomspace(1, VOTERS[-1], 40).astype(int) | 1)
    plots.votes(
        out,
        "figure1",
        {
            "Figure 1: voting fails": {
                "measured": {"vote of minimisers": curves(lines, "fails")},
                "computed": {"exact": (fine, [failing(k) for k in fine])},
                "levels": {"each hypothesis": each, "limit, as printed": limit},
            },
            "Example 2: voting wins": {
                "measured": {"vote": curves(lines, "wins")},
                "computed": {
                    "exact": (fine, [winning(k) for k in fine]),
                    "bound as printed": (fine, [voting_wins(k, XI) for k in fine]),
                },
                "levels": {"each voter": 0.5 - XI},
            },
        },
    )
    write_summary(
        out,
        "experiments.reproduction.figure1",
        "figure1",
        {"samples": len(lines), **told, "printed": {"each": each, "vote": limit}, "rows": rows},
    )


def main(arguments: list[str] | None = None) -> None:
    options = parser(__doc__, splits="0:100")
    given = options.parse_args(arguments)
    store = Store(given.out / "results" / "reproduction_figure1.jsonl")
    if given.fresh:
        store.clear()
    began = time.perf_counter()
    run = functools.partial(run_sample, commit())
    done = len(list(run_missing(store, seeds(given.splits), run, given.jobs)))
    lines = store.rows()
    complete = {"seconds in all": round(time.perf_counter() - began, 1)}
    tell(given.out, lines, complete if done == len(lines) else {})


if __name__ == "__main__":
    main()
