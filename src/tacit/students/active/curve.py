"""How a student grew from batch to batch: post-processing of what was released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.pool import take
from tacit.errors import InvalidArgument
from tacit.students.passive import UNLABELLED, released_labels


@dataclass(frozen=True)
class LearningCurve:
    """One entry per batch. Public.

    Attributes
    ----------
    asked : tuple of int
        Questions asked by the end of each batch.
    foreseen : tuple of float
        Share of the *next* batch's released labels that the student of this batch predicted; NaN
        after the last. Points that were chosen because they are hard are foreseen less often.
    fitted : tuple of float
        Share of all labels released so far that the student reproduces.
    accuracy : tuple of float, or None
        On labelled public points, when the caller gave some.
    """

    asked: tuple[int, ...]
    foreseen: tuple[float, ...]
    fitted: tuple[float, ...]
    accuracy: tuple[float, ...] | None = None

    def __str__(self) -> str:
        head = "questions  foreseen  fitted" + ("  accuracy" if self.accuracy else "")
        lines = [head]
        for row, (asked, foreseen, fitted) in enumerate(
            zip(self.asked, self.foreseen, self.fitted, strict=True)
        ):
            last = f"{self.accuracy[row]:10.3f}" if self.accuracy else ""
            foreseen_text = "       -" if np.isnan(foreseen) else f"{foreseen:8.3f}"
            lines.append(f"{asked:9d}  {foreseen_text}{fitted:8.3f}{last}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields; what is not known is None."""
        columns = {"foreseen": self.foreseen, "fitted": self.fitted, "accuracy": self.accuracy}
        known = {
            name: None if column is None else [None if np.isnan(v) else float(v) for v in column]
            for name, column in columns.items()
        }
        return {"asked": [int(number) for number in self.asked], **known}

    def plot(self, axes: Any = None) -> Any:
        """Draw the curve with matplotlib (``pip install '.[plots]'``); return the axes."""
        if axes is None:
            try:
                from matplotlib.figure import Figure
            except ImportError as error:
                raise InvalidArgument(
                    "`plot` needs matplotlib: pip install '.[plots]', or pass axes of your own."
                ) from error
            axes = Figure(figsize=(6, 4), layout="constrained").subplots()
        axes.plot(self.asked, self.foreseen, "o-", label="next labels foreseen")
        axes.plot(self.asked, self.fitted, "s--", label="released labels reproduced")
        if self.accuracy is not None:
            axes.plot(self.asked, self.accuracy, "k-", label="accuracy on labelled public points")
        axes.set(xlabel="questions asked", ylabel="share", ylim=(0, 1.02))
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
        return axes


def learning_curve(
    released: Any,
    fit: Callable[[Any], Any],
    pool: Any,
    *,
    test: tuple[Any, NDArray[np.int64]] | None = None,
) -> LearningCurve:
    """Fit a student after each batch and compare it with what was released.

    Parameters
    ----------
    released : Released
    fit : function from Released to a fitted student
    pool : table
        Public points as the student sees them.
    test : (points, class indices), optional
        Labelled public points; an index of -1 counts as wrong.
    """
    labels = released_labels(released.answers)
    ends = np.cumsum(released.batches).tolist()
    foreseen, fitted, accuracy = [], [], []
    for end, after in zip(ends, [*ends[1:], ends[-1]] if ends else [], strict=True):
        part = replace(released, positions=released.positions[:end], answers=released.answers[:end])
        student = fit(part)
        predicted = student.predict(take(pool, released.positions[:after]))
        foreseen.append(_agreement(predicted[end:after], labels[end:after]))
        fitted.append(_agreement(predicted[:end], labels[:end]))
        if test is not None:
            points, truth = test
            accuracy.append(float(np.mean(student.predict(points) == truth)))
    return LearningCurve(
        tuple(ends), tuple(foreseen), tuple(fitted), None if test is None else tuple(accuracy)
    )


def _agreement(predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    known = labels != UNLABELLED
    return float(np.mean(predicted[known] == labels[known])) if known.any() else float("nan")
