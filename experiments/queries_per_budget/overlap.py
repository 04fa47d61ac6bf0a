"""Does the sparse vector refuse what active learning asks? [LZCW21] Remark 25.

Data: mushrooms, a9a, two-class newsgroups; 80% private, 2% pool, splits ``default_rng(0..4)``.
Logistic teachers, the classifier's number of them and shards of ten records. Epsilon 1, delta 1/n,
one record replaced. An active student asks about 30% of the pool (at least 50 points) in 15 rounds,
through ``GaussianVote`` at the full budget. Beside it the sparse vector, with the cut-off of the
public rule (``compared.py``; one refusal where the rule finds none), is shown the whole pool: it is
let go on past its cut-off so that every refusal is seen, which is a measurement and not a release
with a guarantee. Four repeats of all noise per split.

    python experiments/queries_per_budget/overlap.py

Look for: the share refused among the points a strategy chose, against random points; and which part
of all refusals the strategy asked about. Writes ``results/queries_per_budget_overlap.json``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from compared import GAUSSIAN_LABEL, SPARSE_TIGHT, planned_by_rule
from labels import SPLITS, terms_of
from vote_sets import EPSILON, OURS, Split, VoteSet

from tacit.data.pool import take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.estimators.voting import OpenPool, ReleaseTerms, release_in_batches
from tacit.ledger import MemoryLedger
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.noise import NoiseSource, SecureNoise
from tacit.planning.rules import questions_for
from tacit.students.active.named import STRATEGIES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import write

CHOSEN_BY = ("random", "margin", "diverse-margin")
TEACHERS = ("default", "small shards")
REPEATS = 4


def sparse_settings(votes: VoteSet) -> SparseVote:
    """Return the sparse vector of the public rule."""
    terms = terms_of(votes)
    mechanism = SPARSE_TIGHT.make(terms, planned_by_rule(SPARSE_TIGHT, terms) or 1)
    assert isinstance(mechanism, SparseVote)
    return mechanism


def refused(vote: SparseVote, votes: VoteSet, noise: NoiseSource) -> Any:
    """Return which points are refused when the run never stops."""
    endless = SparseVote(vote.scale, vote.threshold, len(votes.counts) + 1)
    answers = endless.release(votes.counts, noise=noise)
    return np.array([answer.refused for answer in answers])


def asked(
    name: str, votes: VoteSet, coordinates: Any, number: int, seed: int, noise: NoiseSource
) -> Any:
    """Return the positions a student asks about."""
    mechanism = GAUSSIAN_LABEL.make(terms_of(votes), number)
    assert isinstance(mechanism, GaussianVote)
    terms = ReleaseTerms(mechanism, votes.budget, MemoryLedger(votes.budget), "experiment", noise)
    names = [str(place).encode() for place in range(len(votes.counts))]
    pool = OpenPool(np.arange(len(names)), terms.open(votes.counts, names, number))
    released = release_in_batches(
        pool,
        STRATEGIES[name](),
        coordinates,
        number,
        np.random.default_rng([seed, 2]),
        planned=number,
        n_batches=15,
        n_classes=2,
    )
    return released.positions


def repeat(votes: VoteSet, coordinates: Any, seed: int, noise: NoiseSource) -> dict[str, float]:
    """Return shares of refusals for one draw of all noise."""
    out = refused(sparse_settings(votes), votes, noise)
    number = questions_for(len(out), shares=False)
    found = {"refused in the pool": float(out.mean()), "asked": number / len(out)}
    for name in CHOSEN_BY:
        chosen = asked(name, votes, coordinates, number, seed, noise)
        found[f"refused, {name}"] = float(out[chosen].mean())
        found[f"refusals asked, {name}"] = float(out[chosen].sum() / max(1, out.sum()))
        if votes.truth is not None:
            wrong = votes.plurality[chosen] != votes.truth[chosen]
            found[f"plurality wrong, {name}"] = float(wrong.mean())
    for name in CHOSEN_BY[1:]:
        found[f"{name} - random"] = found[f"refused, {name}"] - found["refused, random"]
    return found


def run_split(name: str, teachers: str, seed: int, noise: NoiseSource) -> dict[str, float]:
    """Return the means over the repeats of one split."""
    split = Split(name, seed)
    votes = split.votes(teachers, pool_only=True)
    points = take(split.pool, split.distinct(split.pool))
    coordinates = PoolRepresentation(scale=4.0, flatten=0.0).fit(split.pool).transform(points)
    rows = [repeat(votes, coordinates, seed * 100 + r, noise) for r in range(REPEATS)]
    vote = sparse_settings(votes)
    return {
        "teachers": votes.counts.n_teachers,
        "points": len(votes.counts),
        "cut-off": vote.cutoff,
        "threshold": vote.threshold,
        **{key: float(np.mean([row[key] for row in rows])) for key in rows[0]},
    }


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return mean and standard error over splits."""
    return {
        key: [
            round(float(np.mean([row[key] for row in rows])), 4),
            round(float(np.std([row[key] for row in rows], ddof=1) / len(rows) ** 0.5), 4),
        ]
        for key in rows[0]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(OURS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    noise, found = SecureNoise(), {}
    for name in arguments.names:
        for teachers in TEACHERS:
            rows = [run_split(name, teachers, seed, noise) for seed in range(SPLITS)]
            found[f"{name}, {teachers}"] = {**summary(rows), "splits": rows}
            print(name, teachers, flush=True)
    write(
        "queries_per_budget_overlap",
        {
            "epsilon": EPSILON,
            "delta": "1/n",
            "seeds": f"splits default_rng(0..{SPLITS - 1}), {REPEATS} repeats each",
            "numbers are": "mean and standard error over splits",
            "sets": found,
        },
    )


if __name__ == "__main__":
    main()
