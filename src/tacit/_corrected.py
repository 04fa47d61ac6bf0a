"""What a fit in rounds tells: statement, release and progress. All of it public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from tacit._correcting import Correcting
from tacit.correcting.rounds import Corrected
from tacit.labeling.means import PlannedMeans
from tacit.mechanisms.clipped_mean import ClippedMean
from tacit.pipeline import ReleasedCorrections
from tacit.privacy.price import price
from tacit.report import PrivacyStatement


def corrections_statement(
    how: Correcting, corrected: Corrected, means: PlannedMeans, *, secure: bool
) -> PrivacyStatement:
    """Return what is promised after so many rounds."""
    plan = means.plan
    return PrivacyStatement(
        epsilon=plan.guarantee.epsilon,
        delta=plan.guarantee.delta,
        spent_epsilon=price(means.usage(), delta=plan.guarantee.delta).epsilon,
        neighbouring=how.neighbouring,
        unit=how.unit,
        mechanism=how.mechanism.name,
        accountant=plan.accountant,
        questions=len(corrected.answers),
        planned=how.schedule.rounds,
        assumptions=how.assumptions,
        secure=secure,
        released="corrections",
    )


def corrections_released(
    corrected: Corrected,
    mechanism: ClippedMean,
    privacy: PrivacyStatement,
    classes: NDArray[Any],
) -> ReleasedCorrections:
    """Return the corrections as numbers."""
    shape = (len(corrected.answers), -1, len(classes) - 1)
    return ReleasedCorrections(
        corrections=np.array([answer.share for answer in corrected.answers]).reshape(shape),
        radii=corrected.radii,
        deviation=mechanism.sigma * mechanism.unit,
        classes=classes,
        privacy=privacy,
    )


def with_bar(
    tell: Callable[[Corrected], None], rounds: int, verbose: bool | None
) -> Callable[[Corrected], None]:
    """Return what is called after every round: it tells, and moves a bar."""
    bar = tqdm(
        total=rounds,
        desc="corrections",
        unit="round",
        disable=None if verbose is None else not verbose,
    )

    def told(so_far: Corrected) -> None:
        tell(so_far)
        bar.update(len(so_far.answers) - bar.n)
        if len(so_far.answers) == rounds:
            bar.close()

    return told
