"""Choose a hypothesis from a cover by its mistakes: the exponential mechanism, listed or by level.

Proof: ``docs/proofs/exponential_mechanism.md``; covers: ``docs/proofs/hypotheses.md``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit import validation
from tacit.accounting.events import Event, ExponentialSelection
from tacit.hypotheses.mistakes import Hypothesis, ListedMistakes, MistakeCounts
from tacit.mechanisms.exact import selection
from tacit.noise import NoiseSource


@dataclass(frozen=True, slots=True, repr=False)
class ChosenHypothesis:
    """The hypothesis that was drawn, and what drawing it cost.

    Public when the cover it was drawn from is a function of public points alone; otherwise as
    private as those points.
    """

    hypothesis: Hypothesis
    cost: tuple[Event, ...]
    secure: bool

    def __repr__(self) -> str:
        mark = "" if self.secure else "INSECURE: test noise, no guarantee"
        return f"ChosenHypothesis({mark})"


def select_hypothesis(
    counts: MistakeCounts, *, epsilon: float, noise: NoiseSource
) -> ChosenHypothesis:
    """Draw a hypothesis with probability proportional to ``exp(-epsilon * mistakes / 2)``.

    Parameters
    ----------
    counts : MistakeCounts
        Private: what ``HypothesisClass.mistake_counts`` returned.
    epsilon : float
    noise : NoiseSource

    Privacy
    -------
    Neighbours: one labelled point replaced, the cover the same: the mistakes of every hypothesis
    move by at most 1. Event: ``ExponentialSelection(epsilon)``. The law is exact, also where the
    hypotheses are counted by level and never listed: a level is drawn with its count times its
    weight, and then a uniform member of it.

    References
    ----------
    [BNS15] Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.hypotheses import Thresholds
    >>> from tacit.noise import SecureNoise
    >>> line, x = Thresholds(), np.arange(1000)
    >>> counts = line.mistake_counts([0, 250, 500, 750], x, x >= 500)
    >>> select_hypothesis(counts, epsilon=1.0, noise=SecureNoise()).hypothesis
    array([500.,   1.])
    """
    event = ExponentialSelection(validation.positive(epsilon=epsilon))
    if isinstance(counts, ListedMistakes):
        index = selection.select(-counts.counts, event.epsilon, noise=noise)
        chosen = counts.hypothesis(int(index))
    else:
        levels, sizes = counts.levels()
        level = -selection.select_level([-m for m in levels], sizes, event.epsilon, noise=noise)
        members = sizes[list(levels).index(level)]
        chosen = counts.member(level, selection.uniform_below(members, noise=noise))
    return ChosenHypothesis(chosen, (event,), noise.secure)
