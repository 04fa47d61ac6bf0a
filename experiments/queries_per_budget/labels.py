"""How many correct labels does each mechanism give away at epsilon 1?

Votes: the published files of 250 teachers (MNIST, SVHN, Adult; deltas as published) and our own
logistic teachers on mushrooms, a9a and two-class newsgroups (delta 1/n). Neighbours: one record
replaced, so one vote of every question moves. Questions come in random order, each once. Every
mechanism spends the whole budget; the one number it plans beforehand (answers, or refusals) is
swept, and once set by a public rule (see ``compared.py``). *Right* is a label that equals the
plurality of the votes, which is what a mechanism can know; *true* one that equals the true class.
Votes here are public, so the noise may come from a seed: the law of the secure source, fast, and
the same figures every time. A release of private votes needs ``SecureNoise``.

    python experiments/queries_per_budget/labels.py                   # all sets
    python experiments/queries_per_budget/labels.py adult mushrooms   # some

Rows go to ``results/queries_per_budget_labels.jsonl`` as they come and a second run goes on where
the first stopped; the summary to ``results/queries_per_budget_labels.json``, a plot to
``docs/images/``. Look for: labels given at a share right of at least .95. The best of a sweep is an
upper envelope, chosen by looking at the votes: on private votes nobody may look.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from compared import RULE_AGREEMENT, RULE_CHANCE, Terms, Way, planned_by_rule, ways
from vote_sets import DELTAS, EPSILON, OURS, SHARD_SIZES, Split, VoteSet, published

from tacit.accounting.answer import Answer
from tacit.audit import SeededNoise
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.sparse_vector import SparseRun
from tacit.noise import NoiseSource

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agnostic_routes"))
from _record import RESULTS, commit, write
from plots import draw

BARS = (0.90, 0.95, 0.99)
REPEATS = 20
SPLITS = 5
NAME = "queries_per_budget_labels"
_BLOCK = 256


class Found(NamedTuple):
    """What one run gave, or the mean over runs. ``true`` is None where the truth is unknown."""

    plan: int
    asked: float
    answered: float
    right: float
    true: float | None


# ---- one run ------------------------------------------------------------------------------------


def answers_of(
    mechanism: VoteMechanism, votes: VoteSet, order: Any, *, noise: NoiseSource
) -> list[Answer]:
    """Return the answers to the questions in ``order``, until the mechanism stops."""
    run = mechanism.start(noise=noise)
    if not isinstance(run, SparseRun):
        return run.release(votes.counts[order])
    answers: list[Answer] = []
    # In blocks: noise for questions that are never reached would only cost time.
    for start in range(0, len(order), _BLOCK):
        if not run.live and not run.instances_left:
            break
        answers += run.release(votes.counts[order[start : start + _BLOCK]])
    return answers


def score(plan: int, answers: list[Answer], votes: VoteSet, order: Any) -> Found:
    """Count the labels, those equal to the plurality and those equal to the truth."""
    labels = np.array([-1 if answer.refused else answer.label for answer in answers], dtype=int)
    asked = order[: len(labels)]
    true = None if votes.truth is None else float(np.sum(labels == votes.truth[asked]))
    right = float(np.sum(labels == votes.plurality[asked]))
    return Found(plan, len(labels), float(np.sum(labels >= 0)), right, true)


def mean_of(found: Iterable[Found]) -> Found:
    """Return the mean over runs of one plan."""
    plans, *columns = zip(*found, strict=True)
    means = [None if None in column else round(float(np.mean(column)), 3) for column in columns]
    return Found(plans[0], *means)


def swept(way: Way, votes: VoteSet, orders: list[Any], *, noise: NoiseSource) -> list[Found]:
    """Return what each plan gives, as a mean over the orders in which questions come.

    Ends early where labels are no better than bad guesses: two plans in a row of twenty answers or
    more with a share right below 0.8, well under the lowest bar.
    """
    terms = terms_of(votes)
    rows: list[Found] = []
    for plan in way.plans(terms):
        if len(rows) > 1 and all(_poor(row) for row in rows[-2:]):
            break
        mechanism = way.make(terms, plan)
        asked = way.questions(mechanism, plan)
        rows.append(
            mean_of(
                score(plan, answers_of(mechanism, votes, part, noise=noise), votes, part)
                for part in (order[:asked] for order in orders)
            )
        )
    return rows


def _poor(row: Found) -> bool:
    return row.answered >= 20 and row.right < 0.8 * row.answered


def terms_of(votes: VoteSet) -> Terms:
    counts = votes.counts
    return Terms(votes.budget, counts.n_teachers, counts.n_classes, len(counts))


# ---- a set of votes: one line of the log --------------------------------------------------------


def line(votes: VoteSet, seed: int, repeats: int, *, noise: NoiseSource) -> dict[str, Any]:
    """Return everything that is measured on one set of votes, in orders drawn from ``seed``."""
    rng = np.random.default_rng([seed, 3])
    orders = [rng.permutation(len(votes.counts)) for _ in range(repeats)]
    terms = terms_of(votes)
    every = ways(terms.n_classes)
    return {
        "set": votes.name,
        "seed": seed,
        "repeats": repeats,
        "commit": commit(),
        "teachers": terms.n_teachers,
        "classes": terms.n_classes,
        "questions": terms.n_questions,
        "delta": votes.delta,
        "plurality is true": None
        if votes.truth is None
        else round(float(np.mean(votes.plurality == votes.truth)), 4),
        "rule": {way.name: planned_by_rule(way, terms) for way in every},
        "sweep": {way.name: swept(way, votes, orders, noise=noise) for way in every},
    }


def lines(names: list[str], known: set[tuple[str, int]]) -> Iterator[dict[str, Any]]:
    """Return the lines that are not known yet.

    A published file gives one line per repeat, a data set of ours one per split and kind of
    teachers: standard errors are over lines.
    """
    for name in names:
        if name in DELTAS:
            left = [seed for seed in range(REPEATS) if (name, seed) not in known]
            votes = published(name) if left else None
            for seed in left:
                assert votes is not None
                yield line(votes, seed, 1, noise=SeededNoise(seed))
            continue
        for kind, seed in product(SHARD_SIZES, range(SPLITS)):
            if (f"{name}, {kind}", seed) not in known:
                votes = Split(name, seed).votes(kind)
                yield line(votes, seed, REPEATS // SPLITS, noise=SeededNoise(seed))


# ---- the summary --------------------------------------------------------------------------------


def estimate(values: Any) -> list[float]:
    """Return mean and standard error."""
    found = np.array(list(values), dtype=float)
    error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else float("nan")
    return [round(float(found.mean()), 1), round(float(error), 1)]


def at_plan(group: list[dict[str, Any]], name: str, plan: int) -> dict[str, Any]:
    """Return means and standard errors of one plan over the lines of a set."""
    rows = [Found(*row) for one in group for row in one["sweep"][name] if row[0] == plan]
    answered = sum(row.answered for row in rows)
    found: dict[str, Any] = {
        "way": name,
        "plan": plan,
        "asked": estimate(row.asked for row in rows),
        "answered": estimate(row.answered for row in rows),
        "right": estimate(row.right for row in rows),
        "share right": round(sum(row.right for row in rows) / answered, 4) if answered else None,
    }
    if all(row.true is not None for row in rows):
        found["true"] = estimate(row.true for row in rows)
    return found


def plans_of(group: list[dict[str, Any]], name: str) -> list[int]:
    """Return the plans that every line of a set reached."""
    return sorted(set.intersection(*({row[0] for row in one["sweep"][name]} for one in group)))


def summary_of(group: list[dict[str, Any]]) -> dict[str, Any]:
    """Return, per family, the plan of the rule and the best plan at every bar."""
    first = group[0]
    families: dict[str, list[str]] = {}
    for way in ways(first["classes"]):
        families.setdefault(way.family, []).append(way.name)
    found: dict[str, Any] = {
        key: first[key] for key in ("teachers", "classes", "questions", "delta")
    }
    found["plurality is true"] = _mean(one["plurality is true"] for one in group)
    for family, names in families.items():
        swept = [at_plan(group, name, plan) for name in names for plan in plans_of(group, name)]
        planned = first["rule"][names[0]]
        best = {}
        for bar in BARS:
            good = [one for one in swept if one["share right"] and one["share right"] >= bar]
            best[f"{bar:g}"] = max(good, key=lambda one: one["right"][0], default=None)
        found[family] = {
            "rule": None if planned is None else at_plan(group, names[0], planned),
            "best of the sweep, by share right": best,
        }
    return found


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def plot(done: list[dict[str, Any]]) -> None:
    """Draw the share right against the labels given, on the published Adult votes."""
    group = [one for one in done if one["set"] == "adult"]
    if len(group) < REPEATS:
        return
    shown = {}
    for way in ways(2):
        rows = [at_plan(group, way.name, plan) for plan in plans_of(group, way.name)]
        kept = [row for row in rows if row["share right"] and row["answered"][0] >= 1]
        if kept and way.setting in ("", "threshold 0.8 K, 2 tests per answer"):
            shown[way.family] = [(row["answered"][0], row["share right"]) for row in kept]
    draw(
        NAME,
        lines=shown,
        x="labels given at epsilon 1 (Adult, 250 teachers)",
        y="share equal to the plurality",
    )


def _known() -> list[dict[str, Any]]:
    log = RESULTS / f"{NAME}.jsonl"
    return [json.loads(text) for text in log.read_text().splitlines()] if log.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=[*DELTAS, *OURS])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    RESULTS.mkdir(exist_ok=True)
    done = _known()
    for one in lines(arguments.names, {(row["set"], row["seed"]) for row in done}):
        with (RESULTS / f"{NAME}.jsonl").open("a") as log:
            log.write(json.dumps(one) + "\n")
        done.append(one)
        print(one["set"], one["seed"], flush=True)
    sets = sorted({one["set"] for one in done})
    every = {name: [one for one in done if one["set"] == name] for name in sets}
    groups = {name: group for name, group in every.items() if len(group) > 1}  # an error needs two
    write(
        NAME,
        {
            "epsilon": EPSILON,
            "neighbours": "one record replaced",
            "rule": f"right with probability {RULE_CHANCE} when {RULE_AGREEMENT} of teachers agree",
            "seeds": {name: [one["seed"] for one in group] for name, group in groups.items()},
            "numbers are": "mean and standard error",
            "sets": {name: summary_of(group) for name, group in groups.items()},
        },
    )
    plot(done)


if __name__ == "__main__":
    main()
