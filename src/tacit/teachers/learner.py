"""What is known of a learner before private data is touched: all of it public."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from tacit.data.pool import n_rows
from tacit.errors import InvalidArgument
from tacit.teachers.labels import UNKNOWN, ClassList, IntArray
from tacit.teachers.rows import row_access, take
from tacit.teachers.workers.suppress_output import SuppressOutput

CHECKED_PER_CLASS = 10
CHECKED_AT_LEAST = 100

# These packages take labels 0, 1, ..., k - 1 without gaps; a shard may well lack a class.
_CONTIGUOUS = ("xgboost", "skorch")


def learner_name(learner: object) -> str:
    """Return the name of the learner's class. Public."""
    return type(learner).__name__


def final_step(learner: Any) -> Any:
    """Return the learner at the end of a pipeline, of nested ones too, or the learner itself."""
    while isinstance(learner, Pipeline):
        learner = learner.steps[-1][1]
    return learner


def takes_missing(learner: Any) -> bool:
    """Return whether a learner declares that it accepts missing values. Public."""
    try:
        return bool(get_tags(learner).input_tags.allow_nan)
    except Exception:  # no scikit-learn estimator, or one without tags
        return False


@dataclass(frozen=True)
class Recipe:
    """A learner made ready for many shards: silent, on one thread, without a cache. Public."""

    learner: Any
    seed_names: tuple[str, ...]
    contiguous: bool

    def fresh(self, seed: int) -> Any:
        """Return an unfitted copy with every ``random_state`` set, nested ones too."""
        copied = _unfitted(self.learner)
        if self.seed_names == ("random_state",) and _plain_settings(copied):
            copied.random_state = seed  # what set_params does, without its checks
        elif self.seed_names:
            copied.set_params(**dict.fromkeys(self.seed_names, seed))
        elif not hasattr(copied, "get_params") and hasattr(copied, "random_state"):
            copied.random_state = seed
        return copied


def recipe(learner: Any) -> Recipe:
    """Return the recipe of a learner, which is copied."""
    fresh = _unfitted(learner)
    settings: dict[str, Any] = {}
    seed_names: list[str] = []
    if hasattr(fresh, "get_params") and hasattr(fresh, "set_params"):
        params = fresh.get_params(deep=True)
        for name, value in params.items():
            owner, _, last = name.rpartition("__")
            if last == "random_state":
                seed_names.append(name)
            elif last == "n_jobs" and not _means_one(value, params.get(owner, fresh)):
                settings[name] = 1
            elif last == "memory" and value is not None:
                settings[name] = None  # files of a cache are named by hashes of the records
            elif last == "verbose" and isinstance(value, int) and value > 0:
                settings[name] = type(value)(0)
        if settings:
            fresh.set_params(**settings)
    return Recipe(fresh, tuple(seed_names), _wants_contiguous(fresh))


def _means_one(n_jobs: Any, owner: Any) -> bool:
    """Return whether the setting means one worker already; some learners warn when it is given."""
    return n_jobs is None and type(owner).__module__.startswith("sklearn.")


def _plain_settings(learner: Any) -> bool:
    return getattr(type(learner), "set_params", None) is BaseEstimator.set_params


def _unfitted(learner: Any) -> Any:
    return clone(learner) if hasattr(learner, "get_params") else copy.deepcopy(learner)


def shard_seed(seed: int, shard: int) -> int:
    """Return the seed of one shard's teacher: any teacher can be rebuilt alone."""
    # 31 bits: some learners keep their seed in a signed 32-bit integer.
    return int(np.random.SeedSequence([seed, shard]).generate_state(1)[0] >> 1)


def _wants_contiguous(learner: Any) -> bool:
    """Return whether labels are given to the learner as 0, 1, ... without gaps."""
    return any(
        kind.__module__.partition(".")[0] in _CONTIGUOUS
        for part in parts(learner)
        for kind in type(part).__mro__
    )


def parts(learner: Any) -> Iterator[Any]:
    """Yield a learner and everything it is made of."""
    yield learner
    if hasattr(learner, "get_params"):
        yield from (value for value in learner.get_params(deep=True).values())


def check_learner(
    learner: Any, X_public: Any, classes: ArrayLike | Sequence[Any] | ClassList
) -> None:
    """Try a learner on public points with made-up labels, before private data is touched.

    A learner that cannot work would turn into teachers that all vote for the default class
    silently, because a message at that stage could reveal something about the records.
    Here everything is public, so the mistake is reported in full.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``
        Not changed.
    X_public : table
        Public points, such as the pool; some of them are used.
    classes : sequence of labels
        The public list of classes.

    Raises
    ------
    InvalidArgument
        When the learner has no ``fit`` or ``predict``, is a class or a regressor, fails, or
        predicts something that is not a list of known labels.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression, Ridge
    >>> points = np.random.default_rng(0).normal(size=(50, 3))
    >>> check_learner(LogisticRegression(), points, classes=[0, 1])
    >>> check_learner(Ridge(), points, classes=[0, 1])
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `learner` must be a classifier, got the regressor Ridge.
    """
    classes = ClassList(classes)
    check_interface(learner=learner)
    points = _sample(X_public, len(classes))
    example_labels = np.arange(n_rows(points)) % len(classes)
    for positions in (example_labels, _with_a_gap(example_labels)):
        predicted, decode = _tried(learner, points, positions, classes)
        _check_prediction(learner_name(learner), predicted, n_rows(points), classes, decode)


def check_interface(**named: Any) -> None:
    """Refuse what is no classifier object: a class, a regressor, or without fit or predict."""
    ((argument, model),) = named.items()
    name = learner_name(model)
    if isinstance(model, type):
        raise InvalidArgument(
            f"`{argument}` must be an object, got the class {model.__name__}; "
            f"call it: {model.__name__}()."
        )
    for method in ("fit", "predict"):
        if not callable(getattr(model, method, None)):
            raise InvalidArgument(f"`{argument}` must have `fit` and `predict`; {name} lacks one.")
    if hasattr(model, "__sklearn_tags__") and is_regressor(model):
        raise InvalidArgument(f"`{argument}` must be a classifier, got the regressor {name}.")


def _sample(X_public: Any, n_classes: int) -> Any:
    n_points = max(CHECKED_AT_LEAST, CHECKED_PER_CLASS * n_classes)
    available = n_rows(X_public)
    if available < 2 * n_classes:
        raise InvalidArgument(
            f"`X_public` must hold at least {2 * n_classes} points (two per class), "
            f"got {available}."
        )
    return take(row_access(X_public), slice(0, min(n_points, available)))


def _with_a_gap(labels: IntArray) -> IntArray:
    """Return labels that skip a class, as a shard might, when more than two exist."""
    return np.where(labels == 1, 0, labels) if labels.max() >= 2 else labels


def _tried(
    learner: Any, points: Any, positions: IntArray, classes: ClassList
) -> tuple[Any, IntArray | None]:
    try:
        with SuppressOutput():
            ready = recipe(learner)
            labels, decode = given_labels(positions, classes, contiguous=ready.contiguous)
            model = ready.fresh(shard_seed(0, 0))
            model.fit(points, labels)
            model.predict(take(points, slice(0, 1)))
            return model.predict(points), decode
    except Exception as error:
        raise InvalidArgument(
            f"`learner` must be able to fit and predict; {learner_name(learner)} failed on public "
            f"points with made-up labels: {type(error).__name__}: {error}"
        ) from error


def given_labels(
    positions: IntArray, classes: ClassList, *, contiguous: bool
) -> tuple[Any, IntArray | None]:
    """Return the labels a learner is fitted with, and how to read its answers.

    Returns
    -------
    labels : array
        Members of ``classes``; or 0, 1, ..., k - 1 for learners that need it.
    decode : array of int, or None
        Position in ``classes`` of each of the k, or None when answers are labels.
    """
    if not contiguous:
        return classes.labels[positions], None
    decode, codes = np.unique(positions, return_inverse=True)
    return codes.astype(np.int64), decode.astype(np.int64)


def read_votes(
    predicted: Any, n_points: int, classes: ClassList, decode: IntArray | None
) -> IntArray | None:
    """Return predictions as positions in ``classes``, or None when their shape is wrong."""
    if not isinstance(predicted, np.ndarray):
        predicted = np.asarray(predicted)
    if predicted.shape == (n_points, 1):
        predicted = predicted[:, 0]
    if predicted.shape != (n_points,):
        return None
    if decode is None:
        return classes.predicted_positions(predicted)
    return _decoded(predicted, decode)


def _decoded(predicted: Any, decode: IntArray) -> IntArray:
    if predicted.dtype.kind not in "biuf":
        return np.full(len(predicted), UNKNOWN, dtype=np.int64)
    # Comparisons are false for NaN, so that it is never cast.
    valid = (predicted >= 0) & (predicted < len(decode))
    whole = np.where(valid, predicted, 0).astype(np.int64)
    valid &= whole == predicted
    return np.where(valid, decode[whole], UNKNOWN).astype(np.int64)


def _check_prediction(
    name: str, predicted: Any, n_points: int, classes: ClassList, decode: IntArray | None
) -> None:
    try:
        votes = read_votes(predicted, n_points, classes, decode)
    except Exception:
        votes = None
    if votes is None:
        raise InvalidArgument(
            f"`learner` must predict one label per point; {name} returned something of another "
            "shape."
        )
    if (votes == UNKNOWN).any():
        raise InvalidArgument(
            f"`learner` must predict labels that are in `classes`; {name} returned others (scores "
            "or probabilities, perhaps)."
        )
