"""The privacy statement of a fit, its warnings and notes. All of it is public."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.price import price
from tacit.errors import LearnerBottleneckWarning
from tacit.estimators.bottleneck import bottleneck
from tacit.estimators.protection import Protection
from tacit.estimators.releases import Released, ReleasedRounds, ReleasedVotes
from tacit.estimators.resolve import FitSettings
from tacit.estimators.vote_settings import VoteSettings
from tacit.report import PrivacyStatement
from tacit.teachers.workers.memory import estimate_memory


def statement_of(
    settings: FitSettings,
    release: Released | ReleasedRounds,
    *,
    secure: bool,
) -> PrivacyStatement:
    """Return what is promised for everything released so far."""
    # At the delta of the guarantee: settings may have changed since the fit.
    delta, usage = release.guarantee.delta, release.usage
    return PrivacyStatement(
        epsilon=release.guarantee.epsilon,
        delta=delta,
        spent_epsilon=price(usage, delta=delta).epsilon if usage else 0.0,
        neighbouring=settings.protection.neighbouring,
        unit=settings.protection.unit,
        mechanism=settings.mechanism.name,
        accountant=release.accountant,
        questions=len(release.answers),
        planned=release.planned,
        assumptions=settings.assumptions,
        secure=secure,
        released="corrections" if isinstance(release, ReleasedRounds) else "answers",
    )


def print_memory_estimate(
    settings: VoteSettings, classes: NDArray[Any], n_jobs: int | None
) -> None:
    """Print how much memory training will need to standard error."""
    n_units = settings.protection.n_units
    # Under add-remove the number of records, and so the size of a shard, is private.
    if n_units is None:
        return
    estimate = estimate_memory(
        settings.learner,
        settings.points.points,
        classes=classes,
        n_teachers=settings.n_teachers,
        shard_size=-(-n_units // settings.n_teachers),
        keep=False,
        n_jobs=n_jobs,
    )
    print(f"{settings.n_teachers} teachers need {estimate}.", file=sys.stderr)


def warn_about_delta(delta: float, protection: Protection) -> None:
    """Warn when delta allows a whole record to be published."""
    n_units = protection.n_units
    if n_units is not None and delta > 1 / n_units:
        _warn(
            f"`delta` {delta:g} is above 1/n = {1 / n_units:.3g}: a guarantee this "
            f"weak allows a whole {protection.unit} to be published. Choose a smaller delta."
        )


def warn_about_answers(released: ReleasedVotes) -> None:
    """Warn when nothing, or a single class, was answered. What was released is public."""
    answered = np.unique(released.labels[released.labels >= 0])
    if len(answered) > 1:
        return
    outcome = "no point was answered: the student predicts the first class"
    if len(answered) == 1:
        outcome = f"every answer is the class {released.classes.tolist()[answered[0]]!r}"
    _warn(
        f"Of {len(released.labels)} points asked, {outcome}. Try another number of "
        "teachers or a larger epsilon, and check that `y` holds labels of `classes`."
    )


def warn_about_learner(settings: VoteSettings, n_classes: int) -> None:
    """Warn when other teachers are known to do better than the learner on shards of this size."""
    text = bottleneck(settings, n_classes)
    if text is not None:
        _warn(text, LearnerBottleneckWarning)


def _warn(text: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn at the line of the caller outside tacit."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tacit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
