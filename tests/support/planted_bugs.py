"""Mistakes to plant in the shipped code, to see whether ``check_mechanism`` finds them.

Each bug is a context manager that patches the attribute which the shipped path uses, and says which
examples it touches. The same checks, inputs and seeds are used as for the correct code; nothing
here is known to the checks. To add one, write a function with ``@bug`` and run
``pytest tests/statistical/test_planted_bugs.py``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock
from weakref import WeakKeyDictionary

import numpy as np

from tacit import noise as noise_module
from tacit.accounting import accountant, events, zcdp
from tacit.audit import noise as test_noise
from tacit.errors import MechanismStopped
from tacit.labeling import labeler as labeler_module
from tacit.labeling import question as question_module
from tacit.ledger.codec import PlanCodec
from tacit.mechanisms import (
    base,
    clipped_mean,
    confident,
    counts,
    exponential,
    instability,
    noisy_argmax,
    sparse_vector,
)
from tacit.mechanisms.exact import selection
from tacit.teachers import partition

__all__ = ["BUGS", "Bug"]

Patches = Iterator[Any]


@dataclass(frozen=True)
class Bug:
    """A mistake: what it is, whom it touches, and how it is planted."""

    name: str
    says: str
    examples: tuple[str, ...]
    named: bool
    plant: Callable[[], contextlib.AbstractContextManager[None]]


BUGS: dict[str, Bug] = {}
"""Every planted bug by name."""


def bug(*examples: str, named: bool = False) -> Callable[[Callable[[], Patches]], Bug]:
    """Register a function that yields patches as a bug of these examples."""

    def register(make: Callable[[], Patches]) -> Bug:
        @contextlib.contextmanager
        def plant() -> Iterator[None]:
            with contextlib.ExitStack() as stack:
                for patch in make():
                    stack.enter_context(patch)
                yield

        name = make.__name__
        BUGS[name] = Bug(name, (make.__doc__ or "").strip(), examples, named, plant)
        return BUGS[name]

    return register


def swap(owner: Any, name: str, new: Any) -> Any:
    """Return a patch of one attribute."""
    return mock.patch.object(owner, name, new)


STABLE = ("sparse", "sparse-3", "stable-vote", "stable-vote-3")
SPARSE = ("sparse", "sparse-3")
GAUSSIAN = ("gaussian-label", "gaussian-share", "gaussian-3-label", "gaussian-3-share")
LAPLACE = ("laplace-label", "laplace-3-label", "laplace-3-share")


# ---- the ten that were asked for -------------------------------------------------------------


@bug(*STABLE, named=True)
def margin_as_if_sensitivity_one() -> Patches:
    """The margin less one is used as the distance, though one vote moves it by two."""

    def distance(votes: Any) -> Any:
        top = np.sort(votes.private_array(), axis=1)
        return np.maximum(0, top[:, -1] - top[:, -2] - 1)

    def plain(votes: Any) -> Any:
        return zip(instability.plurality(votes).tolist(), distance(votes).tolist(), strict=True)

    yield swap(instability, "vote_distance", distance)
    yield swap(sparse_vector, "plain_votes", plain)


@bug(*SPARSE, named=True)
def threshold_without_noise() -> Patches:
    """The sparse vector's threshold is the bare number."""

    def open_(self: Any) -> Any:
        self._unstarted -= 1
        self._bar = math.floor(self._mechanism.threshold)
        return self._bar

    yield swap(sparse_vector.SparseRun, "_open", open_)


@bug(*SPARSE, named=True)
def cutoff_not_enforced() -> Patches:
    """Instances are charged but never run out."""

    def open_(self: Any) -> Any:
        drawn = self._noise.laplace(self._mechanism.scale, 1)
        self._bar = math.floor(self._mechanism.threshold) + int(drawn[0])
        return self._bar

    yield swap(sparse_vector.SparseRun, "_open", open_)


@bug(*SPARSE, named=True)
def query_noise_of_single_scale() -> Patches:
    """Query noise is Lap(lambda) where Lap(2 lambda) is due."""
    original = sparse_vector.SparseRun.__init__

    class Halved:
        def __init__(self, noise: Any, scale: float) -> None:
            self._noise, self._scale = noise, scale

        def __getattr__(self, name: str) -> Any:
            return getattr(self._noise, name)

        def laplace(self, scale: float, size: int) -> Any:
            return self._noise.laplace(self._scale, size)

    def init(self: Any, mechanism: Any, noise: Any) -> None:
        original(self, mechanism, Halved(noise, mechanism.scale))

    yield swap(sparse_vector.SparseRun, "__init__", init)


@bug("gaussian-3-label", "gaussian-3-share", "confident-3", named=True)
def histogram_priced_as_one_count() -> Patches:
    """A histogram is priced as if one moved vote changed one count."""
    yield swap(noisy_argmax, "gaussian_moves", lambda n_classes: 1)
    yield swap(confident, "gaussian_moves", lambda n_classes: 1)


@bug("gaussian-label", "sparse", "exponential", "laplace-3-label", named=True)
def overlapping_shards() -> Patches:
    """Every shard also gets the first record of the next one."""
    original = partition.equal_split

    def split(*args: Any, **kwargs: Any) -> Any:
        shards = original(*args, **kwargs)
        return [np.append(s, t[0]) for s, t in zip(shards, shards[1:] + shards[:1], strict=True)]

    yield swap(partition, "equal_split", split)


def _towards_zero(values: Any) -> Any:
    """As if a continuous draw had been cut, not rounded: everything one half step inwards."""
    values = np.asarray(values)
    inwards = np.arange(len(values)) % 2 == 0
    return values - np.sign(values) * inwards


@bug(*GAUSSIAN, "laplace-3-share", "clipped-mean", "stable-release", named=True)
def noise_rounded_towards_the_mean() -> Patches:
    """Every second value of the noise is moved one step towards zero, in all sources."""
    for source in (noise_module.SecureNoise, test_noise.SeededNoise):
        for law in ("gaussian", "laplace"):
            original = getattr(source, law)

            def draw(self: Any, scale: float, size: int, original: Any = original) -> Any:
                return _towards_zero(original(self, scale, size))

            yield swap(source, law, draw)


@bug("gaussian-label", "laplace-label", "sparse", "exponential", named=True)
def repeated_question_redrawn() -> Patches:
    """A repeated question is answered with new noise, and nobody pays."""

    def ask(self: Any, votes: Any, questions: Any) -> Any:
        table = votes if isinstance(votes, counts.VoteCounts) else votes(range(len(questions)))
        known = self._ledger.recorded(self._plan_id, questions)
        answers = original(self, votes, questions)
        fresh = self._mechanism.start(noise=self._noise)
        return [
            replace(fresh.release(table[i : i + 1])[0], cost=()) if q in known else answers[i]
            for i, q in enumerate(questions[: len(answers)])
        ]

    original = labeler_module.Labeler.ask
    yield swap(labeler_module.Labeler, "ask", ask)


@bug(*GAUSSIAN, "confident", "confident-3", named=True)
def one_draw_shared_by_questions() -> Patches:
    """All questions of a batch share one draw of noise."""

    def shared(votes: Any, sigma: float, noise: Any) -> Any:
        table = votes.private_array()
        if votes.n_classes == 2:
            ones = table[:, 1] + noise.gaussian(sigma, 1) if len(table) else table[:, 1]
            return np.column_stack([votes.n_teachers - ones, ones])
        return table + (noise.gaussian(sigma, votes.n_classes) if len(table) else 0)

    yield swap(noisy_argmax, "gaussian_counts", shared)
    yield swap(confident, "gaussian_counts", shared)


@bug(*GAUSSIAN, "gaussian-label-price", "gaussian-odd", named=True)
def sigma_off_by_root_two() -> Patches:
    """Noise of sigma / sqrt(2) is drawn where sigma is priced."""
    original = noisy_argmax.gaussian_counts

    def less(votes: Any, sigma: float, noise: Any) -> Any:
        return original(votes, sigma / math.sqrt(2), noise)

    yield swap(noisy_argmax, "gaussian_counts", less)


# ---- more of the kind that happen ------------------------------------------------------------


@bug(*SPARSE)
def one_instance_too_many() -> Patches:
    """The loop runs while c <= T, as printed: T + 1 instances."""
    original = sparse_vector.SparseRun.__init__

    def init(self: Any, mechanism: Any, noise: Any) -> None:
        original(self, mechanism, noise)
        self._unstarted += 1

    yield swap(sparse_vector.SparseRun, "__init__", init)


@bug(*SPARSE)
def threshold_not_redrawn() -> Patches:
    """After a refusal the old threshold stays, though the new instance is charged."""
    original = sparse_vector.SparseRun._open

    def open_(self: Any) -> Any:
        self._kept = getattr(self, "_kept", original(self))
        self._bar = self._kept
        return self._bar

    yield swap(sparse_vector.SparseRun, "_open", open_)


@bug("confident", "confident-3")
def refusal_not_charged() -> Patches:
    """The confident vote's refusals are free."""
    original = confident._ConfidentRun._answer

    def answer(self: Any, passed: Any, labels: Any) -> Any:
        return [
            replace(a, cost=() if a.refused else a.cost) for a in original(self, passed, labels)
        ]

    yield swap(confident._ConfidentRun, "_answer", answer)


@bug(*SPARSE)
def instance_charged_at_its_end() -> Patches:
    """An instance is charged when it refuses: one that is still open is free."""
    original = sparse_vector.SparseRun.release

    def release(self: Any, counts: Any) -> Any:
        found = original(self, counts)
        return [replace(a, cost=(self._event,) if a.refused else ()) for a in found]

    yield swap(sparse_vector.SparseRun, "release", release)


@bug("gaussian-label", "laplace-label", "exponential", "stable-vote")
def one_answer_too_many() -> Patches:
    """The allowance is compared after it is taken: one answer beyond the plan."""

    def take(self: Any, wanted: int) -> None:
        if wanted > self.left + 1:
            raise MechanismStopped("used up")
        self.left -= wanted

    yield swap(base.Allowance, "take", take)


@bug("gaussian-3-share", "laplace-3-share")
def noise_shared_by_classes() -> Patches:
    """The counts of one question all get the same noise."""

    def shared(votes: Any, sigma: float, noise: Any) -> Any:
        table = votes.private_array()
        return table + noise.gaussian(sigma, table.size)[: len(table), None]

    def laplace(self: Any, votes: Any, noise: Any) -> Any:
        table = votes.private_array()
        return table + noise.laplace(self.scale, table.size)[: len(table), None]

    yield swap(noisy_argmax, "gaussian_counts", shared)
    yield swap(noisy_argmax.LaplaceVote, "_noisy", laplace)


@bug("gaussian-share", "gaussian-3-share", "laplace-3-share")
def counts_clipped_after_noise() -> Patches:
    """Released counts are clipped to 0 .. K, which shows how near the edge the true ones are."""
    original = noisy_argmax._NoisyCountsRun._shares

    def shares(self: Any, noisy: Any, unit: float) -> Any:
        return original(self, np.clip(noisy, 0, round(1 / unit)), unit)

    yield swap(noisy_argmax._NoisyCountsRun, "_shares", shares)


@bug(*GAUSSIAN)
def variance_given_as_deviation() -> Patches:
    """sqrt(sigma) is drawn: a variance was taken for a standard deviation."""
    original = noisy_argmax.gaussian_counts
    yield swap(
        noisy_argmax, "gaussian_counts", lambda v, sigma, n: original(v, math.sqrt(sigma), n)
    )


@bug("clipped-mean")
def clip_radius_doubled() -> Patches:
    """Contributions are clipped at twice the radius that is priced."""
    original = clipped_mean.clip_to_grid

    def loose(vectors: Any, radius: float, levels: int) -> Any:
        return original(vectors, 2 * radius, 2 * levels)

    yield swap(clipped_mean, "clip_to_grid", loose)


@bug("clipped-mean")
def one_radius_for_replacement() -> Patches:
    """A replaced contribution is priced as if it moved the sum by one radius, not two."""
    event = property(
        lambda self: events.GaussianCoordinates(self.sigma, float(self.levels), self.dimension)
    )
    yield swap(clipped_mean.ClippedMean, "event", event)


@bug("exponential", "exponential-3", "exponential-mechanism")
def weight_without_the_half() -> Patches:
    """Candidates get weight exp(epsilon * score)."""
    original = selection.select

    def select(scores: Any, epsilon: float, *, noise: Any) -> Any:
        return original(scores, 2 * epsilon, noise=noise)

    yield swap(selection, "select", select)


@bug("permute-and-flip")
def permute_and_flip_priced_as_bounded_range() -> Patches:
    """Permute-and-flip is charged the exponential mechanism's epsilon^2 / 8."""
    yield swap(exponential, "ApproximateRelease", lambda e, _: events.ExponentialSelection(e))


@bug("gaussian-label", "gaussian-3-label", "laplace-label", "exponential")
def name_of_a_question_is_rounded() -> Patches:
    """Points that differ by little share a name, and so an answer."""
    original = question_module.keys_of_numbers

    def keys(points: Any) -> list[bytes]:
        return original(np.round(points, 6))

    yield swap(question_module, "keys_of_numbers", keys)


@bug("gaussian-label", "laplace-3-label", "sparse")
def name_of_a_question_ignores_a_coordinate() -> Patches:
    """The last coordinate of a point is no part of its name."""
    original = question_module.keys_of_numbers
    yield swap(question_module, "keys_of_numbers", lambda points: original(points[..., :-1]))


@bug("gaussian-label", "sparse", "confident-3")
def counts_in_repr() -> Patches:
    """The counts show when they are printed."""
    yield swap(counts.VoteCounts, "__repr__", lambda self: f"VoteCounts({self._counts.tolist()})")


@bug("gaussian-label", "confident", "clipped-mean")
def conversion_forgets_the_order() -> Patches:
    """zCDP is converted by rho + sqrt(rho log(1/delta)): a factor 2 is missing."""

    def wrong(rho: float, delta: float) -> float:
        return rho + math.sqrt(rho * math.log(1 / delta)) if rho else 0.0

    yield swap(zcdp, "epsilon_from_rho", wrong)


@bug("gaussian-label", "gaussian-3-label", "confident")
def rho_forgets_the_half_power() -> Patches:
    """GaussianCounts costs moves / (2 sigma^2) divided by moves and by two."""
    yield swap(events.GaussianCounts, "rho", property(lambda self: 1 / (4 * self.sigma**2)))


@bug(*LAPLACE)
def laplace_priced_for_one_count() -> Patches:
    """One moved vote changes two counts; the price is for one."""
    original = events.LaplaceCounts

    def one(scale: float, moves: int = 1) -> Any:
        return original(scale, 1)

    yield swap(noisy_argmax, "LaplaceCounts", one)


@bug("sparse", "sparse-3")
def failure_left_out() -> Patches:
    """The probability of answering an unstable question is not charged."""
    yield swap(sparse_vector, "SparseInstance", lambda s, f: events.SparseInstance(s, 0.0))


@bug("stable-vote", "stable-vote-3", "stable-release")
def passes_at_the_threshold() -> Patches:
    """A noisy distance equal to the threshold passes too."""

    def passes(self: Any, distances: Any, noise: Any) -> Any:
        noisy = distances + noise.laplace(self.scale, len(distances))
        return (noisy >= self.threshold).astype(np.int64)

    yield swap(instability._Stable, "_passes", passes)


@bug("confident", "confident-3")
def test_of_the_margin() -> Patches:
    """The noisy test looks at the margin, which one vote moves by two."""

    def test(self: Any, votes: Any) -> Any:
        top = np.sort(votes.private_array(), axis=1)
        noisy = top[:, -1] - top[:, -2] + self._noise.gaussian(self._mechanism.sigma1, len(votes))
        return (noisy >= self._mechanism.threshold).astype(np.int64)

    yield swap(confident._ConfidentRun, "_test", test)


@bug("gaussian-3-label", "laplace-3-label", "confident-3")
def ties_look_at_the_votes() -> Patches:
    """Ties among noisy counts go to the class that truly has more votes."""
    original = noisy_argmax.winners
    seen: dict[str, Any] = {}
    real = noisy_argmax.gaussian_counts

    def remember(votes: Any, sigma: float, noise: Any) -> Any:
        seen["votes"] = votes.private_array()
        return real(votes, sigma, noise)

    def laplace(self: Any, votes: Any, noise: Any) -> Any:
        seen["votes"] = votes.private_array()
        return seen["votes"] + noise.laplace(self.scale, seen["votes"].size).reshape(
            seen["votes"].shape
        )

    def winners(noisy: Any) -> Any:
        if noisy.shape[1] == 2 or not len(noisy):
            return original(noisy)
        return (noisy + seen["votes"] * 1e-6).argmax(axis=1).astype(np.int64)

    for module in (noisy_argmax, confident):
        yield swap(module, "gaussian_counts", remember)
        yield swap(module, "winners", winners)
    yield swap(noisy_argmax.LaplaceVote, "_noisy", laplace)


@bug("gaussian-label", "gaussian-share", "laplace-label", "exponential")
def usage_not_written() -> Patches:
    """The ledger writes answers without adding up what they cost."""
    original = PlanCodec.encode_answer

    def forgetful(codec: Any, key: Any, answer: Any, tally: Any) -> Any:
        events = {event: answer.cost.count(event) for event in tally.events}
        return original(codec, key, answer, replace(tally, events=events))

    yield swap(PlanCodec, "encode_answer", forgetful)


@bug("gaussian-label", "sparse", "laplace-label")
def test_noise_marked_secure() -> Patches:
    """Answers of test noise claim to be secure."""
    original = base.label_answer

    def label(value: Any, cost: Any, *, secure: bool) -> Any:
        return original(value, cost, secure=True)

    for module in (base, sparse_vector, instability, exponential, confident):
        yield swap(module, "label_answer", label)


@bug("gaussian-label", "gaussian-share")
def floating_point_noise() -> Patches:
    """Rounded continuous noise takes the place of the exact discrete law."""

    def gaussian(self: Any, sigma: float, size: int) -> Any:
        rng = np.random.default_rng()
        return np.floor(rng.normal(0, sigma, size)).astype(np.int64)

    yield swap(noise_module.SecureNoise, "gaussian", gaussian)


@bug("gaussian-share", "clipped-mean", "stable-release")
def secure_noise_seeded() -> Patches:
    """The secure source starts from the same seed every time it is made."""

    seeded: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
    for law in ("gaussian", "laplace"):

        def draw(self: Any, scale: float, size: int, law: str = law) -> Any:
            source = seeded.setdefault(self, test_noise.SeededNoise(7))
            return getattr(source, law)(scale, size)

        yield swap(noise_module.SecureNoise, law, draw)


@bug("gaussian-label", "sparse", "stable-vote-3")
def group_members_dealt_singly() -> Patches:
    """Records are dealt out one by one even when they belong to one person."""
    original = partition.equal_split

    def split(n_records: int, n_teachers: int, rng: Any, groups: Any = None) -> Any:
        return original(n_records, n_teachers, rng)

    yield swap(partition, "equal_split", split)


@bug("gaussian-label", "exponential-3", "sparse-3")
def hash_depends_on_position() -> Patches:
    """A record's shard depends on how many records come before it."""
    original = partition.hash_split

    def split(ids: Any, n_teachers: int, key: bytes) -> Any:
        return (original(ids, n_teachers, key) + np.arange(len(list(ids)))) % n_teachers

    yield swap(partition, "hash_split", split)


@bug("stable-vote", "sparse", "stable-release")
def failures_not_subtracted() -> Patches:
    """Events' own failures are not taken from delta before the conversion."""
    yield swap(accountant, "left_of", lambda delta, tally: delta)
