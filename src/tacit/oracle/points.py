"""The form of a point, for an oracle: records are made to follow it, questions are checked.

Records are private: a cell that does not fit is missing, and nothing is raised over a value.
Questions are public: what does not fit is refused, with its place, before anything is asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import get_tags

from tacit._inputs import check_same_kind, refuse_plain
from tacit.datasets.form import Kind, PointForm
from tacit.errors import InvalidArgument

MADE_UP = 200
"""How many points are made up to try a learner on when no public ones are given."""


class PointReader:
    """Reads private records and public questions in one form. Public.

    Parameters
    ----------
    form : PointForm
    width : int or None
        Number of columns; None for texts.
    names : tuple of str, or None
        Names of the columns, where the records had them.
    missing : bool
        Whether a question may have missing values.

    Examples
    --------
    >>> reader = PointReader.for_records(np.zeros((5, 2)), None, missing=False)
    >>> reader.questions([[1, 2]])
    array([[1., 2.]])
    >>> reader.questions([[1, 2, 3]])
    Traceback (most recent call last):
        ...
    tacit.errors.InvalidArgument: `X` must have 2 columns, like the records, got 3.
    """

    def __init__(
        self, form: PointForm, width: int | None, names: tuple[str, ...] | None, missing: bool
    ) -> None:
        self.form, self.width, self.names, self.missing = form, width, names, missing

    @classmethod
    def for_records(cls, X: Any, X_public: Any, *, missing: bool) -> PointReader:
        """Return the reader for records like these.

        Without public points the form is a table of numbers, whatever the records hold: types and
        categories read off private records would be shared by all teachers.
        """
        refuse_plain(X)
        if X_public is None:
            blank: Any = sp.csr_matrix((1, 1)) if sp.issparse(X) else np.zeros((1, 1))
            form = PointForm(blank)
        else:
            form = PointForm(X_public)
            check_same_kind(X, X_public, form.kind)
        like = X if X_public is None else X_public
        reader = cls(form, None, None, missing)
        table = reader._table(like)
        if form.kind is not Kind.TEXTS:
            reader.width, reader.names = int(table.shape[1]), _names(like)
        return reader

    # ---- private ----------------------------------------------------------------------------

    def records(self, X: Any) -> Any:
        """Return private records in the form; shapes and kinds are checked, values are not."""
        found = self._table(X)
        self._check_width(found, "X")
        return found

    def _table(self, X: Any) -> Any:
        found = self.form.conform(X)
        if self.form.kind is Kind.TEXTS:
            return found
        if getattr(found, "ndim", 0) != 2:
            raise InvalidArgument(
                "`X` must be a table with one row per point. Reshape your data: "
                "array.reshape(-1, 1) for one feature, array.reshape(1, -1) for one point. Texts "
                "and other objects need public points of their kind: fit(X, y, X_public=...)."
            )
        if self.form.kind is Kind.NUMBERS:
            return _numbers(found)
        return found

    # ---- public -----------------------------------------------------------------------------

    def questions(self, X: Any) -> Any:
        """Return public points in the form, or say what is wrong with them."""
        refuse_plain(X)
        if not hasattr(X, "shape") and not isinstance(X, list | tuple):
            raise InvalidArgument(f"`X` must be a table of points, got a {type(X).__name__}.")
        match self.form.kind:
            case Kind.TEXTS:
                return _texts(X)
            case Kind.NUMBERS:
                return self._checked_numbers(X)
            case Kind.FRAME:
                return self._checked_frame(X)
            case _:
                found = np.asarray(X, dtype=object)
                self._check_width(found, "X")
                return found

    def _checked_numbers(self, X: Any) -> Any:
        if hasattr(X, "columns"):
            self._check_names(X)
        found = _read_numbers(X)
        self._check_width(found, "X")
        found = self.form.conform(found)
        _refuse_odd(found, missing=self.missing)
        return found

    def _checked_frame(self, X: Any) -> Any:
        if not hasattr(X, "columns"):
            raise InvalidArgument(
                f"`X` must be a data frame, like the records, got a {type(X).__name__}."
            )
        self._check_names(X)
        self._check_width(X, "X")
        found = self.form.conform(X)
        lost = found.isna().to_numpy() & ~X.isna().to_numpy()
        gaps = lost if self.missing else found.isna().to_numpy()
        if gaps.any():
            row, column = (int(at[0]) for at in np.nonzero(gaps))
            raise InvalidArgument(
                f"`X` must hold values of each column's own type: row {row}, column "
                f"{X.columns[column]!r} has none, or one that is not known."
            )
        return found

    def _check_names(self, X: Any) -> None:
        if self.names is not None and tuple(X.columns) != self.names:
            raise InvalidArgument(
                f"`X` must have the columns of the records, in order: {list(self.names)!r}."
            )

    def _check_width(self, table: Any, name: str) -> None:
        if self.width is None:
            return
        if getattr(table, "ndim", 0) != 2:
            raise InvalidArgument(
                f"`{name}` must be a table with one row per point; for one point write "
                "[[...]] or array.reshape(1, -1)."
            )
        if table.shape[1] != self.width:
            raise InvalidArgument(
                f"`{name}` must have {self.width} columns, like the records, got {table.shape[1]}."
            )

    def made_up(self, rng: np.random.Generator) -> Any:
        """Return points that nobody has, to try a learner on."""
        if self.form.kind is not Kind.NUMBERS or self.width is None:
            raise InvalidArgument("`X_public` must be given: points like these cannot be made up.")
        return self.form.conform(rng.normal(size=(MADE_UP, self.width)))

    def __repr__(self) -> str:
        return f"PointReader({self.form!r}, width={self.width})"


def takes_missing(learner: Any) -> bool:
    """Return whether a learner says that it can work with missing values. Public."""
    try:
        return bool(get_tags(learner).input_tags.allow_nan)
    except Exception:  # no scikit-learn estimator, or one that does not say
        return False


def _names(like: Any) -> tuple[str, ...] | None:
    names = tuple(like.columns) if hasattr(like, "columns") else ()
    return names if names and all(isinstance(name, str) for name in names) else None


def _numbers(table: Any) -> Any:
    """Return numbers as an array or sparse rows; a cell that is no real number is missing."""
    if sp.issparse(table):
        return table.tocsr().astype(np.float64)
    if hasattr(table, "iloc"):
        table = table.to_numpy()
    if table.dtype.kind == "c":
        raise InvalidArgument("`X` must hold real numbers. Complex data not supported.")
    return np.asarray(table, dtype=np.float64)


def _texts(X: Any) -> list[str]:
    found = list(X.tolist() if hasattr(X, "tolist") else X)
    if not all(isinstance(text, str) for text in found):
        raise InvalidArgument("`X` must be a list of texts, like the records.")
    try:
        "".join(found).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("`X` must hold texts that can be written in UTF-8.") from None
    return found


def _read_numbers(X: Any) -> Any:
    """Return public points as numbers: here a cell that is none is an error."""
    if sp.issparse(X):
        if X.dtype.kind not in "biuf":
            raise InvalidArgument("`X` must hold real numbers.")
        return X.tocsr().astype(np.float64)
    try:
        plain: NDArray[Any] = X.to_numpy() if hasattr(X, "iloc") else np.asarray(X)
        if plain.dtype.kind not in "biufO":
            raise TypeError
        return plain.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(
            "`X` must be a table of numbers, all rows of one length, like the records."
        ) from None


def _refuse_odd(table: Any, *, missing: bool) -> None:
    cells = table.data if sp.issparse(table) else table
    if np.count_nonzero(np.isfinite(cells)) == cells.size:  # quicker than all()
        return
    if np.isinf(cells).any():
        raise InvalidArgument("`X` must hold finite numbers, got an infinite one.")
    if not missing and np.isnan(cells).any():
        raise InvalidArgument(
            "`X` must not have missing values (NaN): the learner does not take them."
        )
