"""Trees of all teachers in one set of arrays, walked down together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.teachers.labels import IntArray
from tacit.teachers.score_columns import ScoreColumns, count_votes
from tacit.teachers.teacher import Teacher

FloatArray = NDArray[np.float64]

# Beyond so many questions, asking trees one by one wins (benchmarks/bench_votes.py).
MOST_QUESTIONS_TREES = 64
MOST_QUESTIONS_FORESTS = 256
MOST_QUESTIONS_BOOSTERS = 128

CHUNK_WALKERS = 2**19
"""Pairs of question and tree walked at a time: some 30 MiB."""


class Tree(NamedTuple):
    """The nodes of one tree; ``left`` is negative at a leaf."""

    left: NDArray[Any]
    right: NDArray[Any]
    feature: NDArray[Any]
    threshold: NDArray[Any]
    missing_left: NDArray[Any]


def _sklearn_tree(tree: Any) -> Tree:
    # Missing values go one by one (see `_as_trees_read`), so where they lead does not matter.
    unused = np.zeros(tree.node_count, dtype=bool)
    return Tree(tree.children_left, tree.children_right, tree.feature, tree.threshold, unused)


def _boosted_tree(nodes: Any) -> Tree:
    left = np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64))
    feature, threshold = nodes["feature_idx"], nodes["num_threshold"]
    return Tree(left, nodes["right"], feature, threshold, nodes["missing_go_to_left"])


LEAF = Tree(*(np.array([value]) for value in (-1, -1, 0, 0.0, False)))
"""A tree of one node: what stands in for teachers that always vote the same."""


class Grove:
    """The nodes of many trees, end to end."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        sizes = np.array([len(tree.left) for tree in trees])
        self.roots: IntArray = np.cumsum(sizes) - sizes
        first = np.repeat(self.roots, sizes)
        left = np.concatenate([tree.left for tree in trees])
        right = np.concatenate([tree.right for tree in trees]).astype(np.int64)
        self._inner = left >= 0
        self._child = np.column_stack([left + first, right + first]).ravel()
        feature = np.concatenate([tree.feature for tree in trees]).astype(np.int64)
        self._feature = np.maximum(feature, 0)
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        self._missing_left = np.concatenate([tree.missing_left for tree in trees]).astype(bool)

    def leaves(self, X: FloatArray, roots: IntArray) -> IntArray:
        """Return the leaf of every question in every tree, (n_questions, n_trees)."""
        n_questions, width = X.shape
        node = np.tile(roots, n_questions)
        values, missing = X.ravel(), bool(np.isnan(X).any())
        start = np.repeat(np.arange(0, n_questions * width, width), len(roots))
        walking = np.flatnonzero(self._inner[node])
        while walking.size:
            at = node[walking]
            value = values[start[walking] + self._feature[at]]
            right = value > self._threshold[at]
            if missing:
                right |= np.isnan(value) & ~self._missing_left[at]
            below = self._child[2 * at + right]
            node[walking] = below
            walking = walking[self._inner[below]]
        return node.reshape(n_questions, len(roots))


def _as_trees_read(X: Any) -> Any:
    """Return questions in single precision, or None where scikit-learn's trees may refuse them."""
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    return single if np.isfinite(single.data if sparse.issparse(X) else single).all() else None


def _in_chunks(counted: Callable[[FloatArray], IntArray], X: FloatArray, n_trees: int) -> IntArray:
    chunk = max(1, CHUNK_WALKERS // n_trees)
    if len(X) <= chunk:
        return counted(X)
    return np.concatenate([counted(X[start : start + chunk]) for start in range(0, len(X), chunk)])


class FusedTrees:
    """Decision trees: a few questions walk down all trees at once, many go tree by tree."""

    alone: tuple[int, ...] = ()

    def __init__(self, teachers: Sequence[Teacher], learner: Any) -> None:
        self._n_classes = len(teachers[0].classes)
        self._trees = [None if t.model is None else t.model.tree_ for t in teachers]
        self._grove = Grove([LEAF if t is None else _sklearn_tree(t) for t in self._trees])
        self._vote: IntArray = np.concatenate([_node_votes(teacher) for teacher in teachers])

    def count(self, X: Any) -> IntArray | None:
        """Return counts for questions as numbers, or None when they are not for this way."""
        single = _as_trees_read(X)
        if single is None:
            return None
        if single.shape[0] <= MOST_QUESTIONS_TREES and not sparse.issparse(single):
            return _in_chunks(self._walked, single.astype(np.float64), len(self._trees))
        return self._tree_by_tree(single)

    def _walked(self, X: FloatArray) -> IntArray:
        leaves = self._grove.leaves(X, self._grove.roots)
        return count_votes(self._vote[leaves], self._n_classes)

    def _tree_by_tree(self, single: Any) -> IntArray:
        """Count without the checks that predict repeats for every teacher."""
        n_questions = single.shape[0]
        counts = np.zeros((n_questions, self._n_classes), dtype=np.int64)
        every = np.arange(n_questions)
        for tree, root in zip(self._trees, self._grove.roots, strict=True):
            leaves = root if tree is None else root + tree.apply(single)
            counts[every, self._vote[leaves]] += 1
        return counts


def _node_votes(teacher: Teacher) -> IntArray:
    """Return what each node of a tree votes for, if it is a leaf."""
    if teacher.model is None:
        return np.array([teacher.constant])
    best = teacher.model.tree_.value[:, 0, :].argmax(axis=1)
    votes: IntArray = teacher.classes.positions(teacher.model.classes_)[best]
    return votes


class FusedForests:
    """Random forests: the mean of leaf shares over the trees of each."""

    alone: tuple[int, ...] = ()

    def __init__(self, teachers: Sequence[Teacher], learner: Any) -> None:
        self._columns = ScoreColumns(teachers[0].classes, len(teachers))
        self._size = int(learner.n_estimators)
        trees: list[Tree] = []
        shares: list[FloatArray] = []
        places: list[int] = []
        for teacher in teachers:
            models = [None] if teacher.model is None else teacher.model.estimators_
            # A constant voter walks to its one leaf as often as a forest has trees.
            step = int(teacher.model is not None)
            places += [len(trees) + step * turn for turn in range(self._size)]
            for model in models:
                trees.append(LEAF if model is None else _sklearn_tree(model.tree_))
                shares.append(self._shares(teacher, model))
        self._grove = Grove(trees)
        self._roots = self._grove.roots[places]
        self._share = np.concatenate(shares)

    def _shares(self, teacher: Teacher, model: Any) -> FloatArray:
        """Return the share of every class in each node, classes in sorted order."""
        classes = teacher.classes
        if model is None:
            wide = np.zeros((1, len(classes)))
            wide[0, self._columns.ranks(np.array([teacher.constant]))] = 1.0
            return wide
        wide = np.zeros((model.tree_.node_count, len(classes)))
        ranks = self._columns.ranks(classes.positions(teacher.model.classes_))
        wide[:, ranks] = model.tree_.value[:, 0, :]
        return wide

    def count(self, X: Any) -> IntArray | None:
        """Return counts for questions as numbers, or None when they are not for this way."""
        if sparse.issparse(X) or X.shape[0] > MOST_QUESTIONS_FORESTS:
            return None
        single = _as_trees_read(X)
        if single is None:
            return None
        return _in_chunks(self._counted, single.astype(np.float64), len(self._roots))

    def _counted(self, X: FloatArray) -> IntArray:
        leaves = self._grove.leaves(X, self._roots)
        shape = (len(leaves), self._columns.n_teachers, self._size, self._columns.n_classes)
        # In the order and with the division of scikit-learn, whose ties these are.
        mean = self._share[leaves].reshape(shape).sum(axis=2) / self._size
        best = mean.argmax(axis=2)
        return count_votes(self._columns.positions(best), self._columns.n_classes)


class FusedBoosters:
    """Histogram gradient boosting: leaf values added up over the rounds of each booster."""

    def __init__(self, teachers: Sequence[Teacher], learner: Any) -> None:
        self._columns = ScoreColumns(teachers[0].classes, len(teachers))
        self._bias = np.empty(self._columns.total)
        trees, values = [LEAF], [np.zeros(1)]
        cells: list[tuple[int, int]] = []  # round and column of each tree but the first
        alone: list[int] = []
        for place, teacher in enumerate(teachers):
            at = self._columns.of(place)
            self._bias[at] = self._columns.constant(teacher.constant)
            if teacher.model is None:
                continue
            if not _plain_booster(teacher.model):
                alone.append(place)
                continue
            for cell, nodes in self._placed(at, teacher):
                cells.append(cell)
                trees.append(_boosted_tree(nodes))
                values.append(nodes["value"])
        self.alone = tuple(alone)
        self._grove, self._value = Grove(trees), np.concatenate(values)
        # As many as the learner may take: how many boosters did take follows from their records.
        # One that stopped early, or a constant voter, adds the zero of the first tree.
        self._rounds = int(learner.max_iter)
        tree = np.zeros((self._rounds, self._columns.total), dtype=np.int64)
        if cells:
            tree[tuple(np.transpose(cells))] = np.arange(1, len(trees))
        self._roots = self._grove.roots[tree.ravel()]

    def _placed(self, at: slice, teacher: Teacher) -> Iterator[tuple[tuple[int, int], Any]]:
        """Write the bias of one booster; yield the cell and the nodes of each of its trees."""
        model = teacher.model
        start = np.atleast_1d(model._baseline_prediction.squeeze())
        ranks = self._columns.ranks(teacher.classes.positions(model.classes_))
        offset, own = self._columns.own(len(start), ranks)
        offset[own] = start
        self._bias[at] = offset
        for turn, predictors in enumerate(model._predictors):
            for column, predictor in zip(own, predictors, strict=True):
                yield (turn, at.start + int(column)), predictor.nodes

    def count(self, X: Any) -> IntArray | None:
        """Return counts for questions as numbers, or None when they are not for this way."""
        if sparse.issparse(X) or X.shape[0] > MOST_QUESTIONS_BOOSTERS:
            return None
        return _in_chunks(self._counted, X, len(self._roots))

    def _counted(self, X: FloatArray) -> IntArray:
        leaves = self._grove.leaves(X, self._roots)
        shape = (len(leaves), self._rounds, self._columns.total)
        return self._columns.count(self._value[leaves].reshape(shape).sum(axis=1) + self._bias)


def _plain_booster(model: Any) -> bool:
    """Return whether all splits are on numbers, and the model is laid out as known here."""
    categorical = getattr(model, "is_categorical_", None)
    return (categorical is None or not np.any(categorical)) and all(
        hasattr(model, name) for name in ("_baseline_prediction", "_predictors")
    )
