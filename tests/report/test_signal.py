"""Released values without a signal are said to have none, at the level of the test."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PATEClassifier, Votes
from tacit.audit import SeededNoise
from tacit.errors import InvalidArgument
from tacit.report import RunReport
from tacit.report.signal import SignalTest, answers_signal, corrections_signal
from tacit.teachers.corrections import Standpoint

ROUNDS, WIDTH, POOL = 20, 21, 400


class Seeded(PATEClassifier):
    def _noise(self):
        return SeededNoise(self.random_state)


def test_a_test_is_said_in_words_and_survives_json():
    assert "No signal" in str(SignalTest(0.2)) and str(SignalTest(0.01)).startswith("Signal")


def corrected(rng, pull, followed, wrong=0.2):
    """Rounds that pull a student to ``pull``, by teachers who measure it somewhat differently."""
    deviation, full_step = 0.1, 1.5
    seen = followed * (np.eye(WIDTH) + wrong * rng.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5)
    intercept = np.eye(WIDTH)[-1]
    student, answers, standpoints = np.zeros((WIDTH, 1)), [], []
    for number in range(ROUNDS):
        standpoints.append(Standpoint(student, intercept, full_step))
        noise = deviation * rng.normal(size=student.shape)
        answers.append(seen @ (pull - student) / full_step + noise)
        gain = 1.0 if number < ROUNDS // 2 else (number - ROUNDS // 2 + 1) ** -0.5
        student = student + gain * full_step * answers[-1]
    pool = np.column_stack([rng.normal(size=(POOL, WIDTH - 1)), np.ones(POOL)])
    return corrections_signal(np.array(answers), standpoints, pool, deviation, n_teachers=1000)


@pytest.mark.parametrize("followed", [0.4, 1.0])
def test_corrections_of_nothing_but_a_base_rate_hold_no_signal(followed):
    rng = np.random.default_rng(0)
    base_rate = 2.0 * np.eye(WIDTH)[:, -1:]
    found = [corrected(rng, base_rate, followed).is_significant for _ in range(100)]
    assert sum(found) <= 8


def test_corrections_towards_a_rule_hold_a_signal():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(40):
        rule = 0.12 * rng.normal(size=(WIDTH, 1))
        found.append(corrected(rng, rule, 0.8).is_significant)
    assert np.mean(found) >= 0.95


def test_a_student_without_coordinates_has_no_signal():
    standpoint = Standpoint(np.zeros((1, 1)), np.ones(1), 1.0)
    assert not corrections_signal(
        np.ones((1, 1, 1)), [standpoint], np.ones((5, 1)), 0.1, 10
    ).is_significant


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("labels", [False, True])
def test_answers_without_a_rule_hold_no_signal_and_those_with_one_do(n_classes, labels):
    rng = np.random.default_rng(2)
    outcomes = {True: [], False: []}
    for is_rule in outcomes:
        for _ in range(40):
            points = rng.normal(size=(300, 5))
            leader = np.argmax(points[:, :n_classes], axis=1)
            shares = np.full((300, n_classes), 0.4 / n_classes)
            shares[np.arange(300), leader if is_rule else 0] += 0.6
            if labels:
                drawn = rng.random((300, 1)) < 0.6
                which = np.where(
                    drawn[:, 0], shares.argmax(axis=1), rng.integers(n_classes, size=300)
                )
                answers, variance = np.eye(n_classes)[which], 0.0
            else:
                answers, variance = shares + 0.4 * rng.normal(size=shares.shape), 0.16
            test = answers_signal(points, answers, variance, 1000, rng)
            outcomes[is_rule].append(test.is_significant)
    assert sum(outcomes[False]) <= 5 and sum(outcomes[True]) >= 38


@pytest.mark.parametrize("learner", [None, LogisticRegression()])
@pytest.mark.parametrize("permuted", [True, False])
def test_a_fit_says_whether_there_was_a_signal(learner, permuted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 5))
    y = (X[:, 0] > 0.7).astype(int)
    if permuted:
        y = rng.permutation(y)
    method = "auto" if learner is None else Votes()
    clf = Seeded(learner, epsilon=2.0, delta=1e-5, classes=[0, 1], random_state=0, method=method)
    clf.fit(X, y, X_public=rng.normal(size=(300, 5)))
    report = clf.report()
    assert report.signal.is_significant is not permuted
    assert RunReport.from_json(report.to_json()) == report
    assert ("No signal" in str(report)) is permuted
    assert ("No signal" in report.to_html()) is permuted


def test_a_garbled_p_value_is_refused():
    rng = np.random.default_rng(0)
    clf = Seeded(epsilon=1.0, delta=1e-5, classes=[0, 1], random_state=0)
    X = rng.normal(size=(100, 2))
    saved = clf.fit(X, rng.integers(2, size=100), X_public=X[:50]).report().to_dict()
    for value in (2, "0.1", None, {}):
        with pytest.raises(InvalidArgument, match="signal"):
            RunReport.from_dict(saved | {"signal": {"p_value": value}})
