"""How far a run of the sparse vector gets: a renewal process, computed and not simulated.

An instance draws a threshold, answers questions until the first refusal, and ends; the next one
starts at the following question, until the planned instances are used up or the questions are.
Given the threshold, the questions of an instance are answered independently with one probability,
so the length of an instance is a mixture of geometric laws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.sparse_vector import SparseVote
from tacit.planning.noise_tails import laplace_at_least

FloatArray = NDArray[np.float64]

_STRATA_PER_SCALE = 8
"""Thresholds are taken together in steps of an eighth of their scale: answers move by a few per
cent within a step, and the expected numbers by less than a part in a thousand."""


@dataclass(frozen=True)
class SparseRunForecast:
    """Expected numbers of right and wrong answers and of refusals of one run."""

    right: float
    wrong: float
    refused: float


def expected_sparse_run(
    mechanism: SparseVote,
    right: FloatArray,
    wrong: FloatArray,
    questions: int,
    *,
    rough: bool = False,
) -> SparseRunForecast:
    """Return what a run is expected to answer.

    Parameters
    ----------
    mechanism : SparseVote
    right, wrong : arrays
        Probability, for every distance 0, 1, ..., that a question has it and that its plurality
        is the right class, or a wrong one.
    questions : int
    rough : bool, default False
        Take every question to have a threshold of its own: quick, and good enough to compare
        settings.
    """
    instance = _Instance(mechanism, right, wrong)
    if rough:
        refusal = max(instance.refusal, 1e-12)
        reached = min(float(questions), mechanism.cutoff / refusal)
        return SparseRunForecast(
            reached * instance.mean_right, reached * instance.mean_wrong, reached * refusal
        )
    starts, refused = _starts(instance.lengths(questions), mechanism.cutoff, questions)
    answered_right, answered_wrong = instance.answered(starts)
    return SparseRunForecast(answered_right, answered_wrong, refused)


class _Instance:
    """The law of one instance: a mixture over its threshold."""

    def __init__(self, mechanism: SparseVote, right: FloatArray, wrong: FloatArray) -> None:
        self.mass, bars = _thresholds(mechanism)
        distances = np.flatnonzero(right + wrong > 1e-15)
        gaps = bars[:, None] - distances[None, :] + 1
        passes = laplace_at_least(2 * mechanism.scale, gaps)
        self.to_right = passes @ right[distances]
        self.to_wrong = passes @ wrong[distances]
        self.answers = np.clip(self.to_right + self.to_wrong, 0.0, 1.0)
        self.mean_right = float(self.mass @ self.to_right)
        self.mean_wrong = float(self.mass @ self.to_wrong)
        self.refusal = float(self.mass @ (1 - self.answers))

    def lengths(self, questions: int) -> FloatArray:
        """Return P(an instance takes l questions) for l = 0 .. questions (0 has none)."""
        law = np.zeros(questions + 1)
        before = np.arange(questions, dtype=np.float64)
        for weight, answer in zip(self.mass, self.answers, strict=True):
            if answer <= 0:
                law[1] += weight
            elif answer < 1:
                law[1:] += weight * (1 - answer) * np.exp(before * math.log(answer))
        return law

    def answered(self, starts: FloatArray) -> tuple[float, float]:
        """Return expected numbers of right and wrong answers of instances begun at ``starts``."""
        left = len(starts) - np.arange(len(starts), dtype=np.float64)  # questions from there on
        right = wrong = 0.0
        for weight, answer, to_right, to_wrong in zip(
            self.mass, self.answers, self.to_right, self.to_wrong, strict=True
        ):
            if answer <= 0:
                continue
            # Answers until the first refusal: the sum of answer^i over i below ``left``.
            reached = (
                left if answer >= 1 - 1e-15 else -np.expm1(left * math.log(answer)) / (1 - answer)
            )
            expected = weight * float(starts @ reached)
            right += expected * to_right
            wrong += expected * to_wrong
        return right, wrong


def _thresholds(mechanism: SparseVote) -> tuple[FloatArray, FloatArray]:
    """Return strata of the noisy threshold: their probability and their middle."""
    step = max(1, int(mechanism.scale // _STRATA_PER_SCALE))
    step += 1 - step % 2  # odd, so that a stratum has a middle
    reach = math.ceil(20 * mechanism.scale / step)
    middles = np.arange(-reach, reach + 1, dtype=np.float64) * step
    below = laplace_at_least(mechanism.scale, middles - (step - 1) / 2)
    above = laplace_at_least(mechanism.scale, middles + (step - 1) / 2 + 1)
    mass = below - above
    return mass / mass.sum(), math.floor(mechanism.threshold) + middles


def _starts(lengths: FloatArray, cutoff: int, questions: int) -> tuple[FloatArray, float]:
    """Return P(an instance starts at question i), and the expected number of refusals.

    The starts are sums of 0 .. cutoff - 1 lengths. Their generating function is a geometric sum;
    damping keeps what wraps around in the discrete transform below 1e-12.
    """
    size = 1 << (2 * questions + 2).bit_length()
    damping = np.exp(np.arange(questions + 1) * (math.log(1e-12) / size))
    one = np.fft.rfft(lengths * damping, size)
    powered = one**cutoff
    with np.errstate(divide="ignore", invalid="ignore"):
        summed = np.where(np.abs(1 - one) > 1e-14, (1 - powered) / (1 - one), float(cutoff))
    starts = np.fft.irfft(summed, size)[: questions + 1] / damping
    # Each refusal ends an instance: it falls where the next one starts, or would start.
    ends = np.fft.irfft(summed * one, size)[: questions + 1] / damping
    return np.clip(starts[:questions], 0.0, 1.0), float(np.clip(ends, 0.0, 1.0).sum())
