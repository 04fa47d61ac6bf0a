"""Test what a fit released for any signal, free of charge."""

from __future__ import annotations

import numpy as np

from tacit.accounting.answer import Output
from tacit.data.pool import PublicPool, take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.estimators.correction_settings import CorrectionSettings
from tacit.estimators.releases import Released, ReleasedRounds
from tacit.estimators.resolve import FitSettings
from tacit.estimators.vote_settings import VoteSettings
from tacit.report.signal import SignalTest, answers_signal, corrections_signal
from tacit.students.passive import known_variance, released_labels
from tacit.teachers.corrections.coordinates import FloatArray
from tacit.teachers.partition import IndexArray


def signal_of(
    settings: FitSettings,
    release: Released | ReleasedRounds,
    pool: PublicPool,
    n_classes: int,
) -> SignalTest | None:
    """Return whether a release holds more than noise and base rates. Only public values are used.

    None if answers are about points that have no coordinates. Nothing is drawn from the generator
    that drives the run.
    """
    if isinstance(settings, CorrectionSettings):
        assert isinstance(release, ReleasedRounds)
        return _of_rounds(settings, release, n_classes)
    assert isinstance(release, Released)
    return _of_answers(settings, release, pool, n_classes)


def _of_rounds(settings: CorrectionSettings, release: ReleasedRounds, n_classes: int) -> SignalTest:
    shape = (len(release.answers), -1, n_classes - 1)
    return corrections_signal(
        np.array([answer.share for answer in release.answers]).reshape(shape),
        release.standpoints,
        settings.pool,
        release.deviation,
        settings.n_teachers,
    )


def _of_answers(
    settings: VoteSettings, release: Released, pool: PublicPool, n_classes: int
) -> SignalTest | None:
    labels = released_labels(release.answers)
    answered = np.flatnonzero(labels >= 0)
    if len(answered) < 2:
        return SignalTest(1.0)
    answers = [release.answers[place] for place in answered.tolist()]
    if release.output is Output.SHARE:
        shares = np.array([answer.share for answer in answers])
        variance = np.broadcast_to(known_variance(answers), len(answers))
    else:
        shares, variance = np.eye(n_classes)[labels[answered]], np.zeros(len(answers))
    points = _coordinates(settings, pool, release.positions[answered])
    if points is None:
        return None
    rng = np.random.default_rng(len(answers))
    return answers_signal(points, shares, variance, settings.n_teachers, rng)


def _coordinates(
    settings: VoteSettings, pool: PublicPool, positions: IndexArray
) -> FloatArray | None:
    """Return points of the pool as numbers; None for kinds of points that have none."""
    if isinstance(settings.representation, PoolRepresentation):
        points = take(settings.points.points, positions)
    else:
        try:
            points = PoolRepresentation().fit(pool.points).transform(take(pool.points, positions))
        except Exception:  # public points of any kind that a learner takes
            return None
    return np.asarray(points, dtype=np.float64)
