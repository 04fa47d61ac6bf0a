"""Records in shard folders, made by ``tacit shard`` and read by classifier or oracle."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.neighbours.command import see_command, shard_words, working_in, write_files
from tests.neighbours.learners import Fingerprint, Indifferent
from tests.neighbours.observe import DELTA, EPSILON, Action, see_classifier
from tests.neighbours.pairs import Pair

from tacit import Corrections, PATEClassifier, PrivateOracle, Votes
from tacit.data.shards import open_shards
from tacit.data.tables import ReadOptions, read_points
from tacit.mechanisms import GaussianVote


@contextlib.contextmanager
def prepare(pair: Pair, side: int, *, complete: bool) -> Iterator[Action]:
    """Put the files of one side into an empty folder, and return what shards and fits them."""
    with tempfile.TemporaryDirectory(prefix="neighbours-") as place, working_in(place):
        private, pool = write_files(pair, side, Path("."))
        yield lambda public: _run(pair, complete, private, pool, public)


def _run(pair: Pair, complete: bool, private: str, pool: str, public: dict[str, Any]) -> None:
    see_command(shard_words(pair, private, pool), public)
    made = Path("shards")
    public["files"] = sorted(one.name for one in made.iterdir()) if made.exists() else None
    if public["exit code"]:
        return
    shards = open_shards("shards")
    public["fingerprint"] = shards.fingerprint
    points = read_points(Path(pool), shards.sharding.schema, ReadOptions())
    common: dict[str, Any] = {
        "epsilon": EPSILON, "delta": DELTA, "neighbouring": "add-remove", "verbose": False,
        "classes": [str(one) for one in pair.classes], "random_state": pair.settings % 1000,
    }  # fmt: skip
    rng = np.random.default_rng([25, pair.settings])
    vote: Any = None
    if not complete:
        n_points = len(points)
        vote = GaussianVote(2.0, n_classes=len(pair.classes), answers=n_points)
    if rng.random() < 0.3:
        named = "sparse" if vote is None else vote
        oracle = PrivateOracle(Fingerprint(), **common, mechanism=named, n_questions=len(points))
        oracle.fit(shards, X_public=points)
        public["terms"] = repr(oracle.terms_)
        public["answers"] = oracle.ask(points).tolist()
        return
    if rng.random() < 0.5:
        learner: Any = None if rng.random() < 0.5 else Fingerprint()
        rounds = 1 if not complete else int(rng.integers(1, 4))
        clf = PATEClassifier(learner, **common, method=Corrections(rounds))
        clf.fit(shards, X_public=points)
        see_classifier(clf, points, public)
        return
    method = Votes(query=None)
    if vote is not None:
        method = Votes(vote, n_questions=len(points), query=None)
    clf = PATEClassifier(
        Fingerprint(), **common, method=method, representation=None, student=Indifferent()
    )
    clf.fit(shards, X_public=points)
    see_classifier(clf, points, public)
