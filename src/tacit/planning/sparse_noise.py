"""How many teachers drown the noise of a sparse vector."""

from __future__ import annotations

import math

from tacit import validation
from tacit.mechanisms.sparse_vector import SparseVote


def noise_reach(mechanism: SparseVote, questions: int, failure: float) -> int:
    """Return how far all noise of a run pushes down, but with probability ``failure``.

    Every question's noise has scale 2 lambda, every threshold's lambda, and there are at most as
    many thresholds as questions. Each goes further in the bad direction than its scale times
    ``ln(questions/failure)``, rounded up, with probability ``failure/(2 questions)`` at most.

    Examples
    --------
    >>> noise_reach(SparseVote(scale=10.0, threshold=100, cutoff=5), 1000, 0.05)
    299
    """
    validation.positive_integer(questions=questions)
    validation.probability(failure=failure)
    reach = mechanism.scale * math.log(questions / failure)
    # Rounded up: the discrete tail beyond an integer is below the continuous one.
    return math.ceil(2 * reach) + math.ceil(reach)


def teachers_for_distance(
    mechanism: SparseVote, questions: int, failure: float, *, per_teacher: float
) -> int:
    """Return how many teachers answer all questions whose distance is ``per_teacher`` times K.

    Such a question has distance ``K per_teacher - 1`` at least, and is answered when that is above
    the threshold and all noise; all of them are, but with probability ``failure``.
    """
    validation.positive(per_teacher=per_teacher)
    bar = math.floor(mechanism.threshold) + noise_reach(mechanism, questions, failure)
    return math.ceil((bar + 2) / per_teacher)
