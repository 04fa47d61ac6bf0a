"""Does the sparse vector answer 1/alpha times more questions than composition?

[BTT18] says so "in some cases", alpha being the share of hard questions. A run with T planned
refusals that refuses the hard questions alone answers T/alpha. Measured at epsilon 1, delta 1e-5
(SVHN 1e-6), one record replaced:

1. Generated votes: ties with probability alpha, else one distance, a multiple of the threshold w.
   T = 10. 20 runs each, beside the exact expectation.
2. The same exactly, over distances: how small must alpha be before the best T beats composition
   (the same test paid for every question) and Gaussian noise (labels right with probability .95)?
3. The published votes: hard is a distance of at most w. Hard questions are thinned to a share
   alpha; questions are drawn with replacement. T = 1, 200 runs each.

    python experiments/queries_per_budget/hard_questions.py

Look for: lines that follow T/alpha only where the easy distance exceeds w by several times the
noise; then flat ones. Writes ``results/queries_per_budget_hard.json`` and plots in
``docs/images/``. About ten minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from compared import GAUSSIAN, GAUSSIAN_LABEL, STABLE, Terms, Way, chance_right
from labels import answers_of, estimate
from vote_sets import DELTAS, EPSILON, VoteSet, published, two_kinds

from tacit.mechanisms import GaussianVote, SparseVote
from tacit.privacy.budget import Budget
from tacit.privacy.noise import NoiseSource
from tacit.testing import SeededNoise
from tacit.theory.noise_tails import laplace_at_least

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agnostic_routes"))
from _record import write
from plots import draw

BUDGET = Budget(EPSILON, 1e-5)
ALPHAS = tuple(round(10 ** (-step / 2), 6) for step in range(1, 8))  # 0.316 to 0.000316
CUTOFF = 10
MULTIPLES = (0.75, 1.0, 1.25, 1.5, 2.0)
DISTANCES = tuple(50 * 2**step for step in range(9))  # 50 to 12,800
CUTOFFS = tuple(sorted({round(10 ** (step / 10)) for step in range(38)}))  # 1 to 5,012
BAR = 0.95
RUNS = 20
FILE_RUNS = 200
MOST = 200_000
"""Questions in a generated list: a run that reaches the end counts as it stands."""


def expected_answers(vote: SparseVote, alpha: float, distance: int) -> float:
    """Return the mean number of answers of a run that never runs out of questions.

    Given its threshold an instance answers each question with one probability p, so p / (1 - p)
    of them before it refuses.
    """
    reach = math.ceil(40 * vote.scale)
    noise = np.arange(-reach, reach + 1)
    law = laplace_at_least(vote.scale, noise) - laplace_at_least(vote.scale, noise + 1)
    bars = math.floor(vote.threshold) + noise + 1
    # Refusals are computed as such, not as 1 - p, which would lose the small ones.
    refused = alpha * laplace_at_least(2 * vote.scale, 1 - bars) + (1 - alpha) * laplace_at_least(
        2 * vote.scale, 1 - bars + distance
    )
    return float(vote.cutoff * np.sum(law * (1 - refused) / np.maximum(refused, 1e-300)))


def false_refusal(vote: SparseVote, distance: int) -> float:
    """Return the chance that an instance refuses a question of this distance at once."""
    reach = math.ceil(40 * vote.scale)
    noise = np.arange(-reach, reach + 1)
    law = laplace_at_least(vote.scale, noise) - laplace_at_least(vote.scale, noise + 1)
    bars = math.floor(vote.threshold) + noise
    return float(law @ laplace_at_least(2 * vote.scale, distance - bars))


def most_planned(way: Way, distance: int) -> int:
    """Return the most answers at which a question of this distance comes out right by the bar."""
    teachers = 2 * (distance + 1)

    def good(plan: int) -> bool:
        terms = Terms(BUDGET, teachers, 2, MOST)
        return chance_right(way.make(terms, plan), teachers, 1.0) >= BAR

    if not good(1):
        return 0
    low, high = 1, 2
    while good(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 100):  # one per cent will do
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


# ---- 1. generated votes -------------------------------------------------------------------------


def generated(noise: NoiseSource, runs: int, alphas: tuple[float, ...]) -> dict[str, Any]:
    """Return measured and expected answers at every multiple of the threshold."""
    vote = SparseVote.for_budget(BUDGET, cutoff=CUTOFF)
    found = {}
    for multiple in MULTIPLES:
        distance = round(multiple * vote.threshold)
        rows = []
        for alpha in alphas:
            answered = []
            for run in range(runs):
                rng = np.random.default_rng([run, 4, distance])
                size = min(MOST, math.ceil(40 * CUTOFF / alpha))
                votes = two_kinds(
                    size, 4 * (distance + 1), hard=alpha, easy_distance=distance, rng=rng
                )
                answers = answers_of(vote, votes, np.arange(size), noise=noise)
                answered.append(sum(not answer.refused for answer in answers))
            rows.append(
                {
                    "alpha": alpha,
                    "answered": estimate(answered),
                    "expected": round(expected_answers(vote, alpha, distance), 1),
                    "T/alpha": round(CUTOFF / alpha, 1),
                }
            )
        found[f"{multiple:g} w"] = {
            "distance": distance,
            "false refusal": false_refusal(vote, distance),
            "composition": most_planned(STABLE, distance),
            "gaussian, priced as labels": most_planned(GAUSSIAN_LABEL, distance),
            "curve": rows,
        }
    return {"scale": vote.scale, "threshold": vote.threshold, "cutoff": CUTOFF, "lines": found}


# ---- 2. how small alpha must be -----------------------------------------------------------------


def best_expected(votes: list[SparseVote], alpha: float, distance: int) -> tuple[float, int]:
    """Return the most expected answers over cut-offs, and the cut-off."""
    return max((expected_answers(vote, alpha, distance), vote.cutoff) for vote in votes)


def largest_alpha(votes: list[SparseVote], distance: int, rival: int) -> float | None:
    """Return the largest share of hard questions at which the best cut-off beats ``rival``."""
    if best_expected(votes, 1e-9, distance)[0] <= rival:
        return None
    low, high = -9.0, 0.0
    while high - low > 0.01:
        middle = (low + high) / 2
        wins = best_expected(votes, 10**middle, distance)[0] > rival
        low, high = (middle, high) if wins else (low, middle)
    return float(f"{10**low:.3g}")


def crossovers(distances: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return, for every distance, when the sparse vector wins."""
    votes = [SparseVote.for_budget(BUDGET, cutoff=cutoff) for cutoff in CUTOFFS]
    rows = []
    for distance in distances:
        # A threshold far above the distance is never the best one.
        near = [vote for vote in votes if vote.threshold <= 1.5 * distance] or votes[:1]
        composition = most_planned(STABLE, distance)
        gaussian = most_planned(GAUSSIAN_LABEL, distance)
        rows.append(
            {
                "distance": distance,
                "unanimous teachers": 2 * (distance + 1),
                "composition": composition,
                "gaussian, priced as labels": gaussian,
                "largest cut-off with w below the distance": max(
                    (vote.cutoff for vote in near if vote.threshold < distance), default=None
                ),
                "beats composition below alpha": largest_alpha(near, distance, composition),
                "beats gaussian below alpha": largest_alpha(near, distance, gaussian),
            }
        )
    return rows


# ---- 3. the published votes ---------------------------------------------------------------------


def drawn(votes: VoteSet, hard: Any, alpha: float, size: int, rng: np.random.Generator) -> Any:
    """Return positions of ``size`` questions, each hard with probability alpha."""
    easy, difficult = np.flatnonzero(~hard), np.flatnonzero(hard)
    return np.where(rng.random(size) < alpha, rng.choice(difficult, size), rng.choice(easy, size))


def gaussian_at_bar(votes: VoteSet, order: Any, noise: NoiseSource) -> int:
    """Return the most answers of Gaussian noise at which the share right reaches the bar.

    The share at one sigma is measured on the whole list, more questions than were planned for:
    that is how accuracy is measured, and no release.
    """
    counts = votes.counts
    terms = Terms(votes.budget, counts.n_teachers, counts.n_classes, len(order))
    way = GAUSSIAN_LABEL if counts.n_classes == 2 else GAUSSIAN
    best, wanted = 0, votes.plurality[order]
    for plan in way.plans(terms):
        mechanism = way.make(terms, plan)
        assert isinstance(mechanism, GaussianVote)
        many = GaussianVote(mechanism.sigma, counts.n_classes, len(order))
        labels = [answer.label for answer in many.release(counts[order], noise=noise)]
        if np.mean(np.array(labels) == wanted) < BAR:
            break
        best = plan
    return best


def thinned(votes: VoteSet, noise: NoiseSource, runs: int) -> dict[str, Any]:
    """Return answers at every share of hard questions, the natural one first."""
    vote = SparseVote.for_budget(votes.budget, cutoff=1, n_classes=votes.counts.n_classes)
    hard = votes.distances <= vote.threshold
    natural = float(hard.mean())
    rows = []
    for alpha in (natural, *(a for a in ALPHAS if a < natural)):
        answered = []
        for run in range(runs):
            order = drawn(votes, hard, alpha, 20_000, np.random.default_rng([run, 5]))
            answers = answers_of(vote, votes, order, noise=noise)
            answered.append(sum(not answer.refused for answer in answers))
        sample = drawn(votes, hard, alpha, 4000, np.random.default_rng(6))
        rows.append(
            {
                "alpha": round(alpha, 6),
                "answered": estimate(answered),
                "T/alpha": round(1 / alpha, 1),
                "gaussian at share right .95": gaussian_at_bar(votes, sample, noise),
            }
        )
    false = [false_refusal(vote, int(d)) for d in votes.distances[~hard]]
    return {
        "delta": votes.delta,
        "scale": vote.scale,
        "threshold": vote.threshold,
        "natural share of hard questions": natural,
        "false refusal of an easy question": float(np.mean(false)),
        "curve": rows,
    }


# ---- everything ---------------------------------------------------------------------------------


def plots(curves: dict[str, Any], crossed: list[dict[str, Any]], files: dict[str, Any]) -> None:
    """Write the three pictures."""

    def points(rows: list[dict[str, Any]], key: str) -> list[tuple[float, float]]:
        return [
            (row["alpha"], row[key][0] if key == "answered" else row[key])
            for row in rows
            if key != "answered" or row[key][0] > 0
        ]

    draw(
        "queries_per_budget_alpha",
        lines={
            f"easy questions at distance {name}": points(line["curve"], "answered")
            for name, line in curves["lines"].items()
        },
        dashed={"T/alpha": points(curves["lines"]["2 w"]["curve"], "T/alpha")},
        levels={
            "composition at 2 w": curves["lines"]["2 w"]["composition"],
            "gaussian at 2 w": curves["lines"]["2 w"]["gaussian, priced as labels"],
        },
        x="share of hard questions, alpha (generated votes, T = 10)",
        y="questions answered at epsilon 1",
        log_y=True,
    )
    draw(
        "queries_per_budget_crossover",
        lines={
            f"beats {rival}": [
                (row["distance"], row[f"beats {rival} below alpha"])
                for row in crossed
                if row[f"beats {rival} below alpha"]
            ]
            for rival in ("composition", "gaussian")
        },
        x="distance of the easy questions (votes)",
        y="largest alpha at which the sparse vector wins",
        log_y=True,
    )
    draw(
        "queries_per_budget_files",
        lines={name: points(found["curve"], "answered") for name, found in files.items()},
        dashed={
            f"gaussian, {name}": points(found["curve"], "gaussian at share right .95")
            for name, found in files.items()
        },
        x="share of hard questions, alpha (published votes, thinned; T = 1)",
        y="questions answered at epsilon 1",
        log_y=True,
    )


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    noise = SeededNoise(0)  # the votes are public
    curves = generated(noise, RUNS, ALPHAS)
    print("generated", flush=True)
    crossed = crossovers(DISTANCES)
    print("crossovers", flush=True)
    files = {name: thinned(published(name), noise, FILE_RUNS) for name in DELTAS}
    write(
        "queries_per_budget_hard",
        {
            "epsilon": EPSILON,
            "delta": BUDGET.delta,
            "seeds": f"default_rng([run, 4, distance]) ({RUNS} runs) and ([run, 5]) ({FILE_RUNS}); "
            "noise from seed 0",
            "generated": curves,
            "crossovers": crossed,
            "published votes": files,
        },
    )
    plots(curves, crossed, files)


if __name__ == "__main__":
    main()
