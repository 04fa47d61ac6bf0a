"""What would labels cost if the price could look at the votes? For information only.

The cost of a Gaussian winner given the votes ([PSMRTE18] Theorem 6, for the discrete noise drawn
here) is smaller than the worst case where teachers agree. It is **not a guarantee to plan with**:
it is private, holds for one data set and in one direction, and never enters a ledger or a stopping
rule. Here it is computed on public votes: how many questions, in random order, fit a vote-dependent
epsilon of 1? Beside it: the worst-case epsilon of the same releases, and what would have to be
published instead, the cost with noise scaled by its smooth sensitivity (``release_epsilon``: a
noisy value, an upper bound with confidence .95, never above the worst case), at the order
1 + 2 ln(1/delta), which looks at no votes.

    python experiments/queries_per_budget/vote_dependent.py

Settings, swept: Gaussian noise of sigma = 0.04 to 0.32 times the number of teachers K; confident
votes shaped as published for MNIST (threshold 0.8 K, sigma 0.6 K and 0.16 K) and SVHN (1.2 K,
0.8 K, 0.16 K). Look for: labels right at a share of .95 against those of ``labels.py``, and
``upper`` near the worst case. Writes
``results/queries_per_budget_vote_dependent_<votes>.json``.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from labels import BARS, REPEATS, SPLITS, answers_of, score
from vote_sets import DELTAS, EPSILON, OURS, Split, VoteSet, published

from tacit.accounting.search import largest_integer
from tacit.accounting.vote_dependent.released_epsilon import release_epsilon
from tacit.accounting.vote_dependent.smooth_sensitivity import VoteRule
from tacit.accounting.vote_dependent.vote_bounds import (
    DEFAULT_ORDERS,
    argmax_rdp,
    confident_rdp,
    conversion_term,
)
from tacit.audit import SeededNoise
from tacit.mechanisms import ConfidentVote, GaussianVote
from tacit.noise import NoiseSource

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import write

SIGMAS = (0.04, 0.08, 0.12, 0.16, 0.24, 0.32)
TOLD = "0.95"
"""At which share right the cost of the best setting is also released."""
WORST = "worst-case epsilon of the same labels"
CONFIDENT = {"published for MNIST": (0.8, 0.6, 0.16), "published for SVHN": (1.2, 0.8, 0.16)}

Mechanism = GaussianVote | ConfidentVote


def settings(n_teachers: int, n_classes: int, n_questions: int) -> dict[str, Mechanism]:
    """Return what is swept."""
    found: dict[str, Mechanism] = {
        f"gaussian, sigma {share:g} K": GaussianVote(share * n_teachers, n_classes, n_questions)
        for share in SIGMAS
    }
    for name, (threshold, test, answer) in CONFIDENT.items():
        found[f"confident, {name}"] = ConfidentVote(
            threshold * n_teachers,
            test * n_teachers,
            answer * n_teachers,
            n_classes,
            n_questions,
        )
    return found


def vote_dependent_epsilon(mechanism: Mechanism, votes: Any, delta: float) -> float:
    """Return the epsilon given these votes. Private, were the votes private."""
    if isinstance(mechanism, GaussianVote):
        cost = argmax_rdp(votes, sigma=mechanism.sigma)
    else:
        cost = confident_rdp(
            votes,
            threshold=mechanism.threshold,
            sigma_threshold=mechanism.sigma1,
            sigma_argmax=mechanism.sigma2,
        )
    added = conversion_term(np.array(DEFAULT_ORDERS), delta)
    # Public vote files: there is nothing to protect here.
    return max(0.0, float((cost.reveal_unsafe() + added).min()))


def questions_within(mechanism: Mechanism, votes: Any, delta: float) -> int:
    """Return how many of the first questions have a vote-dependent epsilon of at most 1."""

    def fits(number: int) -> bool:
        within = number <= len(votes)
        return within and vote_dependent_epsilon(mechanism, votes[:number], delta) <= EPSILON

    low, high = 0, 32
    while fits(high):
        low, high = high, 2 * high
    return largest_integer(fits, low, high)


def rule_of(mechanism: Mechanism) -> VoteRule:
    if isinstance(mechanism, GaussianVote):
        return VoteRule(mechanism.sigma)
    return VoteRule(mechanism.sigma2, mechanism.threshold, mechanism.sigma1)


def planned(mechanism: Mechanism, number: int) -> Mechanism:
    """Return the mechanism for so many questions."""
    if isinstance(mechanism, GaussianVote):
        return replace(mechanism, answers=number)
    return replace(mechanism, questions=number)


def run(mechanism: Mechanism, votes: VoteSet, order: Any, noise: NoiseSource) -> dict[str, float]:
    """Return labels of one run, and the worst-case epsilon of the same labels."""
    number = questions_within(mechanism, votes.counts.private_array()[order], votes.delta)
    if number == 0:
        return {"asked": 0, "answered": 0, "right": 0, WORST: 0.0}
    asked, exact = order[:number], planned(mechanism, number)
    found = score(number, answers_of(exact, votes, asked, noise=noise), votes, asked)
    return {
        "asked": number,
        "answered": found.answered,
        "right": found.right,
        WORST: exact.epsilon(votes.delta),
    }


def told(mechanism: Mechanism, votes: VoteSet, order: Any, noise: NoiseSource) -> dict[str, float]:
    """Return what may be published about the cost of the same labels."""
    counts = votes.counts.private_array()[order]
    number = questions_within(mechanism, counts, votes.delta)
    released = release_epsilon(
        counts[:number],
        rule_of(mechanism),
        order=1 - 2 * math.log(votes.delta) / EPSILON,
        delta=votes.delta,
        noise=noise,
    )
    return {
        "released value": released.value,
        "released upper": released.upper,
        "released worst case": released.worst_case,
        "price of the release (Renyi)": released.price,
    }


def mean_rows(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Return means and standard errors."""
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {
        name: [
            round(float(column.mean()), 3),
            round(float(column.std(ddof=1) / len(column) ** 0.5), 3),
        ]
        for name, column in columns.items()
    }


Measure = Callable[[Mechanism, VoteSet, Any, NoiseSource], dict[str, float]]


def over(
    sets: list[tuple[VoteSet, list[Any]]], mechanism: Mechanism, what: Measure, noise: NoiseSource
) -> dict[str, Any]:
    """Return means; standard errors over splits where there are several, else over repeats."""
    found = [[what(mechanism, votes, order, noise) for order in orders] for votes, orders in sets]
    if len(found) == 1:
        return mean_rows(found[0])
    return mean_rows(
        [{name: float(np.mean([row[name] for row in rows])) for name in rows[0]} for rows in found]
    )


def measure(sets: list[tuple[VoteSet, list[Any]]], noise: NoiseSource) -> dict[str, Any]:
    """Return every setting over the sets (splits) and the orders of each."""
    counts = sets[0][0].counts
    every = settings(counts.n_teachers, counts.n_classes, len(counts))
    found = {name: over(sets, mechanism, run, noise) for name, mechanism in every.items()}
    for row in found.values():
        row["share right"] = round(row["right"][0] / max(row["answered"][0], 1e-9), 4)
    best = {}
    for bar in BARS:
        good = [name for name, row in found.items() if row["share right"] >= bar]
        best[f"{bar:g}"] = max(good, key=lambda name: found[name]["right"][0], default=None)
    chosen = best[TOLD]
    if chosen is not None:
        found[chosen].update(over(sets, every[chosen], told, noise))
    return {
        "delta": sets[0][0].delta,
        "teachers": counts.n_teachers,
        "best of the sweep, by share right": best,
        "settings": found,
    }


def orders_of(votes: VoteSet, seed: int, repeats: int) -> list[Any]:
    """Return the orders in which questions come: those of ``labels.py`` for the same seed."""
    rng = np.random.default_rng([seed, 3])
    return [rng.permutation(len(votes.counts)) for _ in range(repeats)]


def sets_of(name: str, repeats: int) -> list[tuple[VoteSet, list[Any]]]:
    """Return a published file in so many orders, or five splits of a data set in fewer each."""
    if name in DELTAS:
        votes = published(name)
        return [(votes, [orders_of(votes, seed, 1)[0] for seed in range(repeats)])]
    splits = [Split(name, seed).votes("default") for seed in range(SPLITS)]
    return [(votes, orders_of(votes, seed, repeats // SPLITS)) for seed, votes in enumerate(splits)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=[*DELTAS, *OURS])
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in arguments.names:
        # The votes are public: seeded noise will do.
        found = measure(sets_of(name, arguments.repeats), SeededNoise(0))
        write(
            f"queries_per_budget_vote_dependent_{name}",
            {
                "for information": "a vote-dependent epsilon is private, no guarantee to plan with",
                "vote-dependent epsilon": EPSILON,
                "seeds": f"{arguments.repeats} orders, as in labels.py; noise from seed 0",
                **found,
            },
        )
        print(name, flush=True)


if __name__ == "__main__":
    main()
