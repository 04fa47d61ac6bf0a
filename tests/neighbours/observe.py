"""Run one side of a pair through one complete path and write down all that can be seen."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import shutil
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier
from tests.neighbours.containers import NotBuilt, build, build_vector
from tests.neighbours.learners import Fingerprint, Hashed, Indifferent, Loud, digest_of
from tests.neighbours.pairs import Pair, choose
from tests.neighbours.seams import Halt, Record, intercepted
from tests.support.method_settings import with_method

from tacit import Corrections, PATEClassifier, PrivateOracle, Votes
from tacit.mechanisms import GaussianVote

EPSILON, DELTA = 50.0, 1e-3

CACHE = Path(tempfile.gettempdir()) / f"neighbours-cache-{os.getpid()}"
"""Where learners that keep a cache keep it: the same place for both sides of a pair."""


@dataclass
class Observation:
    """What was seen of one run: what reached the mechanisms, and everything public by name."""

    record: Record = field(default_factory=Record)
    public: dict[str, Any] = field(default_factory=dict)


def observe(pair: Pair, side: int, *, complete: bool, before: Observation | None) -> Observation:
    """Run one side of a pair.

    Parameters
    ----------
    side : {0, 1}
    complete : bool
        Whether the fit goes on to the end; else it stops where the first votes would be released.
    before : Observation or None
        What was seen of the other side: its votes are released in this run, too.

    Raises
    ------
    NotBuilt
        When the container's own library refuses the cells. Nothing of tacit ran then.
    """
    from tests.neighbours import command, folders

    inside = {"shards": folders.prepare, "fit": command.prepare}.get(pair.path, prepare)
    found = Observation()
    with inside(pair, side, complete=complete) as action:
        earlier = None if before is None else before.record
        with (
            watched(found.public),
            intercepted(found.record, pair.settings, before=earlier, halt=not complete),
        ):
            action(found.public)
    found.public["cache"] = sorted(str(one.relative_to(CACHE)) for one in CACHE.rglob("*"))
    shutil.rmtree(CACHE, ignore_errors=True)
    return found


Action = Callable[[dict[str, Any]], None]
"""Runs a path and adds what is public about its results."""


# ---- all that a process can say -----------------------------------------------------------------


@contextlib.contextmanager
def watched(public: dict[str, Any]) -> Iterator[None]:
    """Write down warnings, log lines, output and the exception that ends the block."""
    out, err, log = io.StringIO(), io.StringIO(), _Lines()
    root = logging.getLogger()
    level = root.level
    root.addHandler(log)
    root.setLevel(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with (
                _descriptors(public),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                yield
        except (Halt, KeyboardInterrupt) as stop:
            if not isinstance(stop, Halt):
                raise
        except BaseException as error:
            public["exception"] = _error(error)
        finally:
            root.removeHandler(log)
            root.setLevel(level)
    public["warnings"] = [
        f"{one.category.__name__} {one.filename}:{one.lineno} {one.message}" for one in said
    ]
    public["stdout"], public["stderr"], public["log"] = out.getvalue(), err.getvalue(), log.lines


@contextlib.contextmanager
def _descriptors(public: dict[str, Any]) -> Iterator[None]:
    """Write down what goes to standard output and error below Python."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    with tempfile.TemporaryFile() as said:
        saved = {number: os.dup(number) for number in (1, 2)}
        try:
            for number in saved:
                os.dup2(said.fileno(), number)
            yield
        finally:
            for number, before in saved.items():
                os.dup2(before, number)
                os.close(before)
            said.seek(0)
            public["descriptors"] = said.read()


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {record.levelname} {record.getMessage()}")


def _error(error: BaseException) -> list[str]:
    """Return type, text and place of an exception and of those that its traceback shows."""
    found = []
    shown: BaseException | None = error
    while shown is not None:
        frames = traceback.extract_tb(shown.__traceback__)
        where = [f"{one.filename}:{one.lineno}" for one in frames if "/tacit/" in one.filename]
        found.append(f"{type(shown).__name__}: {shown} [{' '.join(where[-3:])}]")
        shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
    return found


# ---- classifier and oracle ----------------------------------------------------------------------


@contextlib.contextmanager
def prepare(pair: Pair, side: int, *, complete: bool) -> Iterator[Action]:
    """Return what runs a path on containers in memory."""
    X, y, people, pool = in_memory(pair, side)
    paths = {"votes": _votes, "corrections": _corrections, "oracle": _oracle, "labels": _labels}
    run = paths[pair.path]
    yield lambda public: run(pair, complete, X, y, people, pool, public)


def in_memory(pair: Pair, side: int) -> tuple[Any, Any, Any, Any]:
    """Return records, labels, identifiers and pool in their containers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pair.tables[side]
        if pair.form == "texts":
            X = build_vector(pair.container, table.columns[0])
            pool = build_vector(pair.pool_container, pair.pool["c0"])
        else:
            X = build(pair.container, dict(zip(table.names, table.columns, strict=True)))
            pool = build(pair.pool_container, pair.pool)
        y = build_vector(pair.label_container, table.labels)
        people = None
        if table.people is not None:
            people = build_vector(pair.people_container, table.people)
    return X, y, people, pool


def _common(pair: Pair) -> dict[str, Any]:
    return {
        "epsilon": EPSILON,
        "delta": DELTA,
        "classes": pair.classes,
        "neighbouring": pair.relation,
        "n_teachers": pair.n_teachers,
        "random_state": pair.settings % 1000,
        "verbose": False,
    }


def _votes(
    pair: Pair, complete: bool, X: Any, y: Any, people: Any, pool: Any, public: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {"representation": None, "query": None, "student": Indifferent()}
    if complete:
        settings = vote_settings(pair)
    else:
        n_points = len(pair.pool["c0"])
        settings["n_questions"] = n_points
        settings["mechanism"] = GaussianVote(2.0, n_classes=len(pair.classes), answers=n_points)
    clf = PATEClassifier(
        settings.pop("learner", None) or Fingerprint(), **_common(pair), **with_method(settings)
    )
    clf.fit(X, y, X_public=pool, groups=people)
    see_classifier(clf, pool, public)


def _labels(
    pair: Pair, complete: bool, X: Any, y: Any, people: Any, pool: Any, public: dict[str, Any]
) -> None:
    """Features are public here, and part of the records gives up its labels as the pool."""
    mechanism: Any = "gaussian"
    if not complete:
        mechanism = GaussianVote(2.0, n_classes=len(pair.classes), answers=5)
    clf = PATEClassifier(
        Fingerprint(), **_common(pair), protect="labels",
        method=Votes(mechanism, n_questions=5, query=None),
        representation=None, student=Indifferent(),
    )  # fmt: skip
    clf.fit(X, y)
    see_classifier(clf, X, public)


def vote_settings(pair: Pair) -> dict[str, Any]:
    """Return settings of a complete fit with votes."""
    rng = np.random.default_rng([21, pair.settings])
    two = len(pair.classes) == 2
    found: dict[str, Any] = {
        "mechanism": choose(rng, ("gaussian", "laplace", "confident", "exponential", "sparse")),
        "learner": draw_learner(pair, rng),
        "n_questions": int(rng.integers(3, 8)),
        "n_batches": 2,
    }
    if found["mechanism"] == "gaussian" and two and rng.random() < 0.3:
        found["noise_rule"] = _even
    if rng.random() < 0.5:
        found["query"] = choose(rng, ("random", "margin", "diverse-margin") if two else ("random",))
    else:
        found["student"], found["query"] = Indifferent(), None
    return found


def _even(labels: Any, size: int, even_sigma: float) -> float:
    return even_sigma * (1.0 + 0.01 * len(labels))


def draw_learner(pair: Pair, rng: np.random.Generator) -> ClassifierMixin:
    """Return the learner of a complete fit: mostly the one that notices everything."""
    kind = rng.random()
    if kind < 0.15:
        return Loud()
    if kind < 0.5:
        return Fingerprint()
    front = {"numbers": SimpleImputer(keep_empty_features=True), "sparse": MaxAbsScaler()}.get(
        pair.form, Hashed()
    )
    if kind < 0.75:
        cache = str(CACHE) if rng.random() < 0.5 else None
        return make_pipeline(front, DecisionTreeClassifier(max_depth=4), memory=cache)
    return make_pipeline(front, LogisticRegression(max_iter=30))


def _corrections(
    pair: Pair, complete: bool, X: Any, y: Any, people: Any, pool: Any, public: dict[str, Any]
) -> None:
    rng = np.random.default_rng([22, pair.settings])
    learner: Any = None if rng.random() < 0.6 else Fingerprint()
    rounds: Any = 1
    if complete:
        rounds = choose(rng, (2, 3, "auto")) if learner is None else choose(rng, (1, 2, 3))
    clf = PATEClassifier(learner, **_common(pair), method=Corrections(rounds))
    clf.fit(X, y, X_public=pool, groups=people)
    see_classifier(clf, pool, public)


def see_classifier(clf: PATEClassifier, pool: Any, public: dict[str, Any]) -> None:
    """Write down everything public about a fitted classifier."""
    released = clf.released_
    public["resolved"] = repr(clf.resolved_params_)
    public["statement"] = str(clf.privacy_)
    public["report"] = clf.report().to_json()
    public["released"] = {
        name: _plain(value) for name, value in vars(released).items() if name != "privacy"
    }
    public["predictions"] = clf.predict(pool).tolist()
    public["schema"] = clf.schema_.to_json()
    public["pickle"] = digest_of([pickle.dumps(clf)])


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else repr(value)


def _oracle(
    pair: Pair, complete: bool, X: Any, y: Any, people: Any, pool: Any, public: dict[str, Any]
) -> None:
    rng = np.random.default_rng([23, pair.settings])
    points = pool if pair.form in ("texts", "frame") or rng.random() < 0.7 else None
    n_points = len(pair.pool["c0"])
    settings: dict[str, Any] = {"n_questions": 2 * n_points}
    if complete:
        settings["mechanism"] = choose(
            rng, ("gaussian", "laplace", "confident", "exponential", "sparse", "sparse")
        )
        if settings["mechanism"] == "sparse" and pair.relation == "replace":
            settings["cutoff"] = choose(rng, (2, "auto", "estimate"))
    else:
        settings["mechanism"] = GaussianVote(2.0, n_classes=len(pair.classes), answers=2 * n_points)
    learner = draw_learner(pair, rng) if complete else Fingerprint()
    oracle = PrivateOracle(learner, **_common(pair), **settings)
    oracle.fit(X, y, groups=people, X_public=points)
    public["terms"] = repr(oracle.terms_)
    answers = [oracle.ask(pool).tolist()]
    if complete and pair.container in ("array", "object_array"):
        answers += [oracle.ask(pool[at : at + 1] + 0.5).tolist() for at in range(3)]
    public["answers"] = answers
    public["statement"] = str(oracle.privacy_)
    public["left"] = repr(oracle.budget_left())


__all__ = ["NotBuilt", "Observation", "observe", "prepare", "watched"]
