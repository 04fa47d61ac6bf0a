"""Peers from other libraries, each in an environment of its own (``elsewhere``).

**diffprivlib**: logistic regression by objective perturbation [CMS11]. Its neighbours replace one
record, like ours; its guarantee is pure, so the delta that the others may use is of no use to it.

**Opacus**: DP-SGD with Poisson batches. Its own accountants are for add-remove neighbours. Here the
noise is calibrated for replace-one: with R the same training without the record, and D(x) its
add-remove delta at x, ``P(S) <= e^x R(S) + D(x)`` and ``R(S) <= e^(epsilon - x) Q(S) + D(epsilon -
x)`` give ``delta <= D(x) + e^x D(epsilon - x)`` for every x: a record is removed, then another
added. D is dp-accounting's, exact for Poisson-sampled Gaussians.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from benchmarks.accuracy import elsewhere
from benchmarks.accuracy.data import Split, unit_rows
from benchmarks.accuracy.white_box import features, schedule
from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism
from scipy.optimize import brentq

from tacit.accounting.gaussian import gdp_mu

Wanted = Sequence[tuple[float, Mapping[str, Any]]]


def diffprivlib(split: Split, wanted: Wanted) -> list[float]:
    """Return the accuracy at each (epsilon, settings)."""
    return _by_features(
        "diffprivlib",
        split,
        wanted,
        lambda epsilon, settings: {
            "epsilon": epsilon,
            "C": settings["C"],
            "max_iter": 1000,
            "seed": split.seed,
        },
    )


def opacus(split: Split, wanted: Wanted) -> list[float]:
    """Return the accuracy at each (epsilon, settings)."""

    def task(epsilon: float, settings: Mapping[str, Any]) -> dict[str, Any]:
        batch = math.ceil(split.n / settings["batches"])
        # Opacus samples with one over the number of batches an epoch has.
        rate = 1 / math.ceil(split.n / batch)
        factors, counts = schedule(settings["steps"])
        return {
            "batch": batch,
            "sampling_rate": rate,
            "clip": settings["clip"],
            "noise_multiplier": noise_multiplier(epsilon, split.delta, rate, settings["steps"]),
            "factors": factors.tolist(),
            "counts": counts.tolist(),
            "learning_rate": step_size(epsilon, split, settings),
            "seed": split.seed,
        }

    return _by_features("opacus", split, wanted, task)


def step_size(epsilon: float, split: Split, settings: Mapping[str, Any]) -> float:
    """Return the step on the mean gradient, by the rule that white-box descent uses too."""
    reach = settings["travel"] * gdp_mu(epsilon, split.delta) * split.n
    return float(reach / (settings["steps"] * settings["clip"]))


@lru_cache(maxsize=256)
def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Return the noise over the clipping norm at which ``steps`` batches fit, for replace-one."""

    def excess(log_multiplier: float) -> float:
        found = replaced_delta(epsilon, math.exp(log_multiplier), rate, steps)
        return math.log(max(found, 1e-300) / delta)

    found = brentq(excess, math.log(0.3), math.log(1000), xtol=1e-4)
    return math.exp(found + 1e-4)


def replaced_delta(epsilon: float, multiplier: float, rate: float, steps: int) -> float:
    """Return delta for replace-one neighbours: one record removed, another added."""
    step = from_gaussian_mechanism(
        multiplier, value_discretization_interval=1e-3, sampling_prob=rate
    )
    loss = step.self_compose(steps)
    first = np.linspace(0.0, epsilon, 41)
    removed = np.asarray(loss.get_delta_for_epsilon(first))
    # The grid is symmetric: what is left for the second step is the grid backwards.
    return float(np.min(removed + np.exp(first) * removed[::-1]))


def _by_features(name: str, split: Split, wanted: Wanted, task: Any) -> list[float]:
    """Ask a library once for every kind of features; rows are one long."""
    answers: dict[int, float] = {}
    kinds = {_kind(settings): settings for _, settings in wanted}
    for kind, settings in kinds.items():
        mine = [number for number, (_, one) in enumerate(wanted) if _kind(one) == kind]
        parts = features(split, settings).map(unit_rows)
        tasks = [task(*wanted[number]) for number in mine]
        found = elsewhere.ask(name, parts.private, split.labels, parts.test, tasks)
        answers |= {n: split.accuracy(one) for n, one in zip(mine, found, strict=True)}
    return [answers[number] for number in range(len(wanted))]


def _kind(settings: Mapping[str, Any]) -> tuple[Any, ...]:
    return settings["features"], settings.get("flatten")
