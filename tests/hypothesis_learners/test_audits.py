"""Audits on larger data: the measured epsilon stays below the price, and planted leaks stand out.

One record lies apart from all others, or among them: the pair on which a cover that depends on
records leaks most. An honest learner is accused wrongly with probability 1e-4 at most, before the
seed was fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tacit.audit import SeededNoise
from tacit.audit.estimates import audit
from tacit.hypotheses import Thresholds
from tacit.mechanisms import SparseVote
from tacit.mechanisms.prediction import (
    HypothesisPrediction,
    RelabelledPrediction,
    draw_from_subset,
)
from tacit.mechanisms.relabelled import RelabelledVote

pytestmark = pytest.mark.statistical

RECORDS = 20
LINE = Thresholds()
QUESTION = np.array([[2.0]])
LABELS = np.ones(RECORDS, dtype=bool)
AMONG = np.zeros((RECORDS, 1))
APART = AMONG.copy()
APART[0] = 5.0


def measured(release, delta: float, samples: int) -> float:
    """Return the epsilon that outputs on the two data sets force."""

    def sampler(points):
        def sample(seed, size):
            noise = SeededNoise(seed)
            return [release(points, LABELS, noise) for _ in range(size)]

        return sample

    found = audit(
        sampler(APART), sampler(AMONG), delta=delta, samples=samples, jobs=1, progress=False
    )
    return found.epsilon_lower


def label_of(mechanism):
    """Return a function that releases one label."""
    return lambda X, y, noise: mechanism.release(X, y, QUESTION, noise=noise)[0].label


@dataclass(frozen=True)
class Unflipped(HypothesisPrediction):
    """Forgets the flip."""

    def _flipped(self, X, y, point, noise):
        return self._label(X, y, point[None, :], noise)


RULE = {"records": RECORDS, "subset": 1, "selection_epsilon": 2.0, "flip": 0.2}


def test_a_private_predictor_stays_below_its_price():
    mechanism = HypothesisPrediction(LINE, **RULE)
    assert measured(label_of(mechanism), 0.0, 4000) <= mechanism.event.pure_epsilon


def test_a_forgotten_flip_stands_out():
    mechanism = Unflipped(LINE, **RULE)
    assert measured(label_of(mechanism), 0.0, 4000) > mechanism.event.pure_epsilon


@dataclass(frozen=True)
class Unvoted(RelabelledPrediction):
    """Answers with the relabelling hypothesis itself."""

    def _label(self, X, y, point, noise):
        drawn = draw_from_subset(
            self.hypotheses, X, y, subset=self.subset, epsilon=2 * self.loss_rate, noise=noise
        )
        return int(self.hypotheses.predict(drawn, point)[0])


# Any two thresholds that agree on one record at 0 agree on all others there: one record is a net.
AGNOSTIC = {
    "records": RECORDS,
    "subset": 2,
    "loss_rate": 0.35,
    "vote_epsilon": 0.3,
    "teachers": 6,
    "eta": 1e-9,
    "net_failure": 0.0,
}


def test_an_agnostic_predictor_stays_below_its_price():
    mechanism = RelabelledPrediction(LINE, **AGNOSTIC)
    assert measured(label_of(mechanism), 0.0, 1500) <= mechanism.event.pure_epsilon


def test_an_answer_by_the_relabelling_hypothesis_stands_out():
    mechanism = Unvoted(LINE, **{**AGNOSTIC, "subset": 1, "vote_epsilon": 0.05})
    assert measured(label_of(mechanism), 0.0, 4000) > mechanism.event.pure_epsilon


VOTE = SparseVote(scale=4.0, threshold=4, cutoff=1)
ORACLE = RelabelledVote(LINE, RECORDS, 6, 1.0, teachers=6, vote=VOTE, base_delta=VOTE.failure)


def transcript(points, labels, noise) -> tuple:
    """Return what an oracle says on two questions."""
    run = ORACLE.start(points, labels, noise=noise)
    answers = run.release(run.count(np.array([[2.0], [-1.0]])))
    return tuple(answer.label for answer in answers)


def test_an_agnostic_oracle_stays_below_its_price():
    event = ORACLE.event
    assert measured(transcript, event.delta, 1500) <= event.pure_epsilon


def test_a_published_teacher_stands_out():
    """A teacher's threshold is the point of a record; the price is for its votes."""
    mechanism = RelabelledVote(
        LINE, RECORDS, 1, 0.01, teachers=1, vote=SparseVote(20.0, 600, 1), base_delta=1e-6
    )

    def leak(points, labels, noise):
        run = mechanism.start(points, labels, noise=noise)
        return float(run._teachers[0, 0])

    event = mechanism.event
    assert measured(leak, event.delta, 4000) > event.pure_epsilon
