"""Private records as hypothesis classes see them: points, and labels 0 or 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from tacit.errors import InvalidArgument, PrivateValueError
from tacit.hypotheses.base import HypothesisClass
from tacit.hypotheses.points import BoolArray, FloatArray, as_labels, as_points


@dataclass(frozen=True, repr=False, eq=False)
class BinaryRecords:
    """Points and labels of the private records. How many there are is public."""

    X: FloatArray
    y: BoolArray

    @classmethod
    def read(cls, hypotheses: HypothesisClass, X: Any, y: Any) -> BinaryRecords:
        """Return records in the form of the class; shapes are checked, values are not."""
        points = as_points(X, hypotheses.n_features)
        if len(points) == 0:
            raise InvalidArgument("`X` must hold at least one record, got none.")
        return cls(points, as_labels(y, len(points)))

    def __len__(self) -> int:
        return len(self.X)

    def take(self, rows: Any) -> BinaryRecords:
        """Return some of the records."""
        return BinaryRecords(self.X[rows], self.y[rows])

    def __repr__(self) -> str:
        return f"BinaryRecords(<{len(self)} records, private>)"

    def __reduce__(self) -> NoReturn:
        raise PrivateValueError("Records are private: they are not pickled or saved.")
