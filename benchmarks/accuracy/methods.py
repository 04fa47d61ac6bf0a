"""The methods that are compared, and the settings each may choose from.

Equal effort: every tuned method has ``TRIED`` settings. Where its authors or its library have some
of their own, these are the first. A method of ours has the defaults of the product alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from benchmarks.accuracy import library_peers, pate_peers, routes, white_box
from benchmarks.accuracy.data import Split

TRIED = 8
Settings = Mapping[str, Any]
Wanted = Sequence[tuple[float, Settings]]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Parameters
    ----------
    title : str
        What the table calls it.
    settings : tuple of dict
        What may be chosen.
    score : function of (split, wanted)
        Returns the accuracy for every wanted (epsilon, settings).
    first : str, optional
        What the first settings are, if they are not just one of ours: they are shown too.
    private : bool
        Whether it depends on epsilon at all.
    data : tuple of str, optional
        The only data sets it runs on.
    """

    title: str
    settings: tuple[Settings, ...]
    score: Callable[[Split, Wanted], list[float]]
    first: str | None = None
    private: bool = True
    data: tuple[str, ...] | None = None

    @property
    def tuned(self) -> bool:
        """Whether there is anything to choose."""
        return len(self.settings) > 1


def _one_by_one(
    score: Callable[[Split, float, Settings], float],
) -> Callable[[Split, Wanted], list[float]]:
    def scores(split: Split, wanted: Wanted) -> list[float]:
        return [score(split, epsilon, settings) for epsilon, settings in wanted]

    return scores


def _grid(**values: Sequence[Any]) -> tuple[Settings, ...]:
    """Return all combinations; the first value of each comes first."""
    return tuple(dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))


def _ours(title: str, data: tuple[str, ...] | None = None, **settings: Any) -> Method:
    return Method(title, (settings,), _one_by_one(routes.route), data=data)


_PUBLIC = {"features": "public", "flatten": 0.125}

METHODS: dict[str, Method] = {
    "logistic": Method(
        "no privacy: logistic regression",
        _grid(C=(1.0, 0.01, 0.03, 0.1, 0.3, 3.0, 10.0, 100.0)),
        _one_by_one(routes.logistic),
        first="defaults",
        private=False,
    ),
    "boosting": Method(
        "no privacy: boosting",
        ({},),
        _one_by_one(routes.boosted),
        private=False,
        data=("adult",),
    ),
    "psq": Method(
        "PATE-PSQ [LZCW21]",
        _grid(shard=(100, 25, 50, 200), C=(1.0, 100.0)),
        _one_by_one(pate_peers.psq),
        first="as published",
    ),
    "asq": Method(
        "PATE-ASQ [LZCW21]",
        _grid(share=(0.3,), c0=(0.16, 1.0), shard=(100, 50), C=(1.0, 100.0)),
        _one_by_one(pate_peers.asq),
        first="as published",
    ),
    "confident": Method(
        "Confident-GNMax [PSMRTE18]",
        _grid(
            ratio=(3.75,), answered=(0.5, 1.0), threshold=(0.6,), shard=(100, 50), C=(1.0, 100.0)
        ),
        _one_by_one(pate_peers.confident),
    ),
    "dp-gd-raw": Method(
        "white-box gradient descent, raw features",
        _grid(features=("raw",), steps=(100, 300), clip=(0.1, 0.5), travel=(1.0, 3.0)),
        _one_by_one(white_box.score),
    ),
    "dp-gd-public": Method(
        "white-box gradient descent, public features",
        _grid(
            features=("public",),
            clip=(0.1,),
            steps=(150, 300),
            flatten=(0.125, 0.25),
            travel=(2.0, 1.0),
        ),
        _one_by_one(white_box.score),
    ),
    "diffprivlib": Method(
        "diffprivlib, objective perturbation",
        tuple(
            {**kind, "C": C}
            for kind in ({"features": "raw"}, _PUBLIC)
            for C in (1.0, 0.03, 0.1, 0.3)
        ),
        library_peers.diffprivlib,
        first="default penalty",
    ),
    "opacus": Method(
        "Opacus, DP-SGD, public features",
        _grid(
            features=("public",),
            batches=(8,),
            clip=(0.1,),
            steps=(150, 300),
            flatten=(0.125, 0.25),
            travel=(2.0, 1.0),
        ),
        library_peers.opacus,
    ),
    "tacit": _ours("tacit, votes (default)"),
    "tacit-boosting": _ours("tacit, votes, boosting teachers", ("adult",), learner="boosting"),
    "tacit-rounds": _ours("tacit, corrections, any learner", rounds="auto"),
    "tacit-built-in": _ours("tacit, corrections, built-in teachers", learner="built-in"),
}
