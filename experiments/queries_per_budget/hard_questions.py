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

    python experiments/queries_per_budget/hard_questions.py            # all three
    python experiments/queries_per_budget/hard_questions.py thinned    # one of them

Look for: lines that follow T/alpha only where the easy distance exceeds w by several times the
noise; then flat ones. Writes ``results/queries_per_budget_{generated,crossovers,thinned}.json`` and
a plot of each in ``docs/images/``. A few minutes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from compared import GAUSSIAN, GAUSSIAN_LABEL, STABLE, Terms, chance_right
from labels import answers_of, estimate
from vote_sets import DELTAS, EPSILON, VoteSet, published, two_kinds

from tacit.accounting.budget import Budget
from tacit.accounting.events import GaussianLabel
from tacit.accounting.price import price
from tacit.accounting.search import largest_integer
from tacit.audit import SeededNoise
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.noise import NoiseSource
from tacit.planning.noise_tails import gaussian_at_least, laplace_at_least

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agnostic_routes"))
from _record import write
from plots import draw

BUDGET = Budget(EPSILON, 1e-5)
ALPHAS = tuple(round(10 ** (-step / 2), 6) for step in range(1, 8))  # 0.316 to 0.000316
CUTOFF = 10
MULTIPLES = (0.75, 1.0, 1.25, 1.5, 2.0)
DISTANCES = tuple(50 * 2**step for step in range(8))  # 50 to 6,400
CUTOFFS = tuple(sorted({round(10 ** (step / 10)) for step in range(31)}))  # 1 to 1,000
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


def most_composed(distance: int) -> int:
    """Return the most tests, each paid for, at which this distance passes by the bar."""
    teachers = 2 * (distance + 1)

    def good(plan: int) -> bool:
        terms = Terms(BUDGET, teachers, 2, MOST)
        return chance_right(STABLE.make(terms, plan), teachers, 1.0) >= BAR

    if not good(1):
        return 0
    low, high = 1, 2
    while good(high):
        low, high = high, 2 * high
    while high - low > max(1, low // 100):  # one per cent will do
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low


def most_gaussian(distance: int) -> int:
    """Return the most Gaussian labels at which this distance comes out right by the bar."""
    low, high = 0.1, 2.0 * (distance + 1)
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        right = 1 - float(gaussian_at_least(middle, distance + 1)) >= BAR
        low, high = (middle, high) if right else (low, middle)
    return gaussian_answers(low)


def gaussian_answers(sigma: float) -> int:
    """Return how many Gaussian labels of this noise fit the budget; zero if none does."""

    def fits(count: int) -> bool:
        tally = {GaussianLabel(sigma): count}
        return price(tally, delta=BUDGET.delta).epsilon <= BUDGET.epsilon

    if not fits(1):
        return 0
    low, high = 1, 2
    while fits(high):
        low, high = high, 2 * high
    return largest_integer(fits, low, high)


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
            "composition": most_composed(distance),
            "gaussian, priced as labels": most_gaussian(distance),
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
        # The best threshold is below the distance, and not far below: refusals would be wasted.
        near = [v for v in votes if 0.3 * distance <= v.threshold <= distance] or votes[:1]
        composition = most_composed(distance)
        gaussian = most_gaussian(distance)
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


def points(rows: list[dict[str, Any]], key: str) -> list[tuple[float, float]]:
    """Return (alpha, value) for a line; zero has no place on a logarithmic axis."""
    values = [(row["alpha"], row[key][0] if key == "answered" else row[key]) for row in rows]
    return [(alpha, value) for alpha, value in values if value > 0]


def draw_generated(found: dict[str, Any]) -> None:
    clear = found["lines"]["2 w"]
    draw(
        "queries_per_budget_generated",
        lines={
            f"easy questions at distance {name}": points(line["curve"], "answered")
            for name, line in found["lines"].items()
        },
        dashed={"T/alpha": points(clear["curve"], "T/alpha")},
        levels={
            "composition at 2 w": clear["composition"],
            "gaussian at 2 w": clear["gaussian, priced as labels"],
        },
        x="share of hard questions, alpha (generated votes, T = 10)",
        y="questions answered at epsilon 1",
        log_y=True,
    )


def draw_crossovers(found: dict[str, Any]) -> None:
    lines = {}
    for rival in ("composition", "gaussian"):
        key = f"beats {rival} below alpha"
        known = [row for row in found["rows"] if row[key]]
        lines[f"beats {rival}"] = [(row["distance"], row[key]) for row in known]
    draw(
        "queries_per_budget_crossovers",
        lines=lines,
        x="distance of the easy questions (votes)",
        y="largest alpha at which the sparse vector wins",
        log_y=True,
    )


def draw_thinned(found: dict[str, Any]) -> None:
    files = found["votes"]
    draw(
        "queries_per_budget_thinned",
        lines={name: points(one["curve"], "answered") for name, one in files.items()},
        dashed={
            f"gaussian, {name}": points(one["curve"], "gaussian at share right .95")
            for name, one in files.items()
        },
        x="share of hard questions, alpha (published votes, thinned; T = 1)",
        y="questions answered at epsilon 1",
        log_y=True,
    )


PARTS: dict[str, tuple[Callable[[NoiseSource], dict[str, Any]], Callable[[Any], None]]] = {
    "generated": (lambda noise: generated(noise, RUNS, ALPHAS), draw_generated),
    "crossovers": (lambda _: {"rows": crossovers(DISTANCES)}, draw_crossovers),
    "thinned": (
        lambda noise: {"votes": {n: thinned(published(n), noise, FILE_RUNS) for n in DELTAS}},
        draw_thinned,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    for part in parser.parse_args().parts:
        measure, picture = PARTS[part]
        found = measure(SeededNoise(0))  # the votes are public
        seeds = {
            "generated": f"default_rng([run, 4, distance]), {RUNS} runs; noise from seed 0",
            "crossovers": "none: exact expectations",
            "thinned": f"default_rng([run, 5]), {FILE_RUNS} runs; noise from seed 0",
        }
        terms = {"epsilon": EPSILON, "delta": BUDGET.delta, "seeds": seeds[part]}
        write(f"queries_per_budget_{part}", {**terms, **found})
        picture(found)
        print(part, flush=True)


if __name__ == "__main__":
    main()
