"""What a fit says of itself: its statement, and warnings. All of it public."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping

import numpy as np

from tacit.accounting.budget import Budget
from tacit.accounting.events import Event
from tacit.accounting.price import price
from tacit.estimators.correction_settings import Correcting
from tacit.estimators.pipeline import Released, ReleasedVotes
from tacit.estimators.vote_settings import Resolved
from tacit.labeling.means import PlannedMeans
from tacit.report import PrivacyStatement
from tacit.teachers.corrections.rounds import Corrected


def votes_statement(how: Resolved, released: Released, *, secure: bool) -> PrivacyStatement:
    """Return what is promised for votes that were released."""
    return _statement(
        how,
        released.guarantee,
        released.usage,
        accountant=released.accountant,
        questions=len(released.answers),
        planned=released.planned,
        secure=secure,
    )


def corrections_statement(
    how: Correcting, corrected: Corrected, means: PlannedMeans, *, secure: bool
) -> PrivacyStatement:
    """Return what is promised after so many rounds of corrections."""
    plan = means.plan
    return _statement(
        how,
        plan.guarantee,
        means.usage(),
        accountant=plan.accountant,
        questions=len(corrected.answers),
        planned=how.schedule.rounds,
        secure=secure,
        released="corrections",
    )


def _statement(
    how: Resolved | Correcting,
    guarantee: Budget,
    usage: Mapping[Event, int],
    *,
    accountant: str,
    questions: int,
    planned: int,
    secure: bool,
    released: str = "answers",
) -> PrivacyStatement:
    # At the delta of the guarantee: settings may have changed since the fit.
    delta = guarantee.delta
    return PrivacyStatement(
        epsilon=guarantee.epsilon,
        delta=delta,
        spent_epsilon=price(usage, delta=delta).epsilon if usage else 0.0,
        neighbouring=how.neighbouring,
        unit=how.unit,
        mechanism=how.mechanism.name,
        accountant=accountant,
        questions=questions,
        planned=planned,
        assumptions=how.assumptions,
        secure=secure,
        released=released,
    )


def warn_of_large(delta: float, how: Resolved | Correcting) -> None:
    """Say when delta allows a whole record to be published."""
    if how.n_units is not None and delta > 1 / how.n_units:
        _warn(
            f"`delta` {delta:g} is above 1/n = {1 / how.n_units:.3g}: a guarantee this "
            f"weak allows a whole {how.unit} to be published. Choose a smaller delta."
        )


def warn_of_little(released: ReleasedVotes) -> None:
    """Say when nothing, or one class, was answered. What was released is public."""
    answered = np.unique(released.labels[released.labels >= 0])
    if len(answered) > 1:
        return
    found = "no point was answered: the student predicts the first class"
    if len(answered) == 1:
        found = f"every answer is the class {released.classes.tolist()[answered[0]]!r}"
    _warn(
        f"Of {len(released.labels)} points asked, {found}. Try another number of "
        "teachers or a larger epsilon, and check that `y` holds labels of `classes`."
    )


def _warn(text: str) -> None:
    """Warn at the line of whoever called tacit, however deep that is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("tacit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)
