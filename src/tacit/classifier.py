"""PATEClassifier: the scikit-learn face of the pipeline."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit import __version__, _validate
from tacit._resolve import Resolved, resolve
from tacit.datasets.records import PublicPool, n_rows, take
from tacit.errors import InvalidArgument
from tacit.pipeline import PrivateRecords, Released, release_labels
from tacit.privacy.budget import Budget, Neighbouring
from tacit.privacy.ledger import Ledger, MemoryLedger, open_ledger
from tacit.privacy.noise import NoiseSource, SecureNoise
from tacit.privacy.price import price
from tacit.report import PrivacyStatement, RunReport
from tacit.report.run import run_report
from tacit.students.fitting import FittedStudent, fit_student
from tacit.teachers.learner import check_learner
from tacit.theory.planner import pool_part


def _student_has(name: str) -> Any:
    def has(self: PATEClassifier) -> bool:
        return hasattr(self, "student_") and hasattr(self.student_, name)

    return available_if(has)


class PATEClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Private classifier from any learner: teachers vote on public points, a student learns.

    PATE with passive student queries ([LZCW21] Algorithm 3, [BTT18] Algorithm 3). The learner you
    trust is trained, unchanged, on disjoint shards of the private records; only its copies' votes
    on public points are released, with noise; a student trained on those is the public model.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``
        Trained on every shard; anything fitted inside it is fitted per shard.
    epsilon, delta : float
        The budget of one ``fit``. Keep delta below one over the number of records.
    classes : array of labels, or "from-labels"
        The possible labels, which must be public. "from-labels" reads them from the private labels
        and says so in the statement: a class that occurs once would give that record away.
    protect : {"records", "labels"}
        ``records`` needs ``X_public`` in ``fit``. ``labels`` treats features as public and protects
        labels alone; without ``X_public`` part of the records give up their labels as the pool.
    neighbouring : {"replace", "add-remove"}
        See ``Neighbouring``. ``add-remove`` needs ``groups`` (identifiers) and ``n_teachers``.
    mechanism : "gaussian", "laplace", "confident", "exponential", "sparse", or a mechanism
        What releases the votes. A mechanism object brings its own noise; its price must fit.
    release : {"auto", "label", "share"}
        Labels, or noisy shares of the vote, which cost the same and carry more. "auto": shares with
        the default student, labels with any other.
    n_teachers, n_queries : int or "auto"
        By a closed rule on public sizes (``tacit.theory.planner``).
    refusals : {"unlabelled", "random"}
        What a refused point becomes: left out (or -1 for a semi-supervised student), or labelled at
        random as in the papers.
    student : estimator, optional
        Trained on what was released. By default one that knows the variance of noisy shares
        (``NoiseAwareStudent``) in coordinates learnt from the pool. Students that take unlabelled
        points (scikit-learn's ``semi_supervised``) get the rest of the pool too.
    representation : "auto", None or transformer
        Fitted on the pool alone. A transformer is applied to every point, for teachers and
        student. "auto": principal coordinates for teachers that are linear models on numbers,
        nothing for others.
    ledger : path, URL or Ledger, optional
        Where spends add up over fits. By default every fit has a ledger of its own, and adding up
        is yours to do.
    n_jobs : int, optional
        As in joblib.
    random_state : int, optional
        Drives sharding and training, never privacy noise.
    verbose : bool, optional
        Progress bar; by default when there is a terminal.

    Attributes
    ----------
    classes_ : ndarray
    privacy_ : PrivacyStatement
    student_ : the fitted public model
    resolved_params_ : dict
        What every "auto" chose.
    representation_ : fitted transformer or None

    Privacy
    -------
    One ``fit`` is (epsilon, delta) private for the relation in ``privacy_``; the fitted object
    holds public results only, so it may be pickled and handed out. Every further ``fit`` on the
    same records spends again, cross-validation and grid search included.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 4)); y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> pool = rng.normal(size=(100, 4))
    >>> clf = PATEClassifier(LogisticRegression(), epsilon=1.0, delta=1e-5, classes=[0, 1])
    >>> clf = clf.fit(X, y, X_public=pool)
    >>> bool(clf.score(X, y) > 0.8)
    True
    >>> clf.privacy_.epsilon <= 1.0
    True
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        classes: Any = None,
        protect: str = "records",
        neighbouring: str = "replace",
        mechanism: Any = "gaussian",
        release: str = "auto",
        n_teachers: int | str = "auto",
        n_queries: int | str = "auto",
        refusals: str = "unlabelled",
        student: Any = None,
        representation: Any = "auto",
        ledger: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.protect = protect
        self.neighbouring = neighbouring
        self.mechanism = mechanism
        self.release = release
        self.n_teachers = n_teachers
        self.n_queries = n_queries
        self.refusals = refusals
        self.student = student
        self.representation = representation
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, X_public: Any = None, groups: Any = None) -> Self:
        """Train teachers, release their votes, train the student.

        Parameters
        ----------
        X : array, sparse matrix, data frame or list of texts
            Private records.
        y : array of labels
            Private. A label that is not in ``classes`` is ignored.
        X_public : the same kind as X, or PublicPool
            Public points. Wrap them in ``PublicPool`` when there are as many as records.
        groups : array, optional
            Whom each record belongs to: one person's records are protected together.
        """
        budget = Budget(self.epsilon, self.delta)
        if budget.delta == 0:
            raise InvalidArgument("`delta` must be above 0 for a noisy vote, got 0.0.")
        X, y = self._validated(X, y)
        rng = np.random.default_rng(self.random_state)
        self.classes_ = self._class_list(y)
        X, y, groups, pool = self._pool(X, y, X_public, groups, rng)
        noise = self._noise()
        how = resolve(self, pool, n_rows(X), groups, budget, len(self.classes_), noise)
        self._warn(how, n_rows(X))
        self.representation_ = how.representation
        points = PublicPool(self._represent(pool.points))
        check_learner(how.learner, points.points, self.classes_)
        released = release_labels(
            PrivateRecords(self._represent(X), y, n_rows(X), how.people, how.hash_key),
            points,
            learner=how.learner,
            classes=self.classes_,
            n_teachers=how.n_teachers,
            n_questions=how.n_questions,
            mechanism=how.mechanism,
            neighbouring=how.neighbouring,
            delta=budget.delta,
            ledger=self._ledger(budget),
            key=f"fit-{noise.bits(64):016x}",
            noise=noise,
            rng=rng,
            n_jobs=self.n_jobs,
            progress=self.verbose,
        )
        self.student_: FittedStudent = fit_student(
            self.student,
            points.points if self._student_sees_representation() else pool.points,
            released,
            len(self.classes_),
            self.refusals,
            rng,
            represented=self._student_sees_representation(),
        )
        self._tell(how, released)
        return self

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override this, and everything they make says so."""
        return SecureNoise()

    def _ledger(self, budget: Budget) -> Ledger:
        if self.ledger is None:
            return MemoryLedger(budget)
        return open_ledger(self.ledger)

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Check what is public about the input: kind, width, length. Never its values."""
        if self.learner is None:
            raise InvalidArgument("`learner` must be an object with fit and predict, got None.")
        if y is None:
            raise InvalidArgument("`y` must be given: requires y to be passed, but it is None.")
        if _plain(X):
            # Values are not looked at: an error that depends on one would give it away.
            X = validate_data(
                self, X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False
            )
        else:
            validate_data(self, X, skip_check_array=True)
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] == 1:
            from sklearn.exceptions import DataConversionWarning

            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please change the "
                "shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=3,
            )
            y = y.ravel()
        if y.shape != (n_rows(X),):
            raise InvalidArgument(
                f"`y` must have one label per record, ({n_rows(X)},), got shape {y.shape}."
            )
        return X, y

    def _class_list(self, y: NDArray[Any]) -> NDArray[Any]:
        if self.classes is None:
            raise InvalidArgument(
                "`classes` must list the possible labels, got None. They must be public: reading "
                'them from private labels could reveal a record. classes="from-labels" does so '
                "explicitly."
            )
        if isinstance(self.classes, str) and self.classes == "from-labels":
            check_classification_targets(y)
            found = np.unique(y)
        else:
            found = np.asarray(self.classes)
            if found.ndim != 1 or len(np.unique(found)) != len(found):
                raise InvalidArgument("`classes` must be a list of different labels.")
        if len(found) < 2:
            raise InvalidArgument(
                f"`classes` must hold at least two labels, got {len(found)} class."
            )
        return found

    def _pool(
        self, X: Any, y: Any, X_public: Any, groups: Any, rng: np.random.Generator
    ) -> tuple[Any, Any, Any, PublicPool]:
        protect = _validate.one_of(("records", "labels"), protect=self.protect)
        if X_public is None:
            if protect == "records":
                raise InvalidArgument(
                    "`X_public` must be given to protect records: public points to ask the "
                    'teachers about. protect="labels" needs none, but protects labels alone.'
                )
            order = rng.permutation(n_rows(X))
            part = pool_part(n_rows(X))
            pool, kept = np.sort(order[:part]), np.sort(order[part:])
            groups = None if groups is None else np.asarray(groups)[kept]
            return take(X, kept), y[kept], groups, PublicPool(take(X, pool))
        if not isinstance(X_public, PublicPool) and n_rows(X_public) == n_rows(X):
            raise InvalidArgument(
                "`X_public` has as many rows as X: cross-validation would cut it along with the "
                "records. If that is meant, pass PublicPool(X_public)."
            )
        points = X_public.points if isinstance(X_public, PublicPool) else X_public
        return X, y, groups, PublicPool(self._checked_points(points))

    def _checked_points(self, X: Any) -> Any:
        if _plain(X):
            return validate_data(
                self,
                X,
                reset=False,
                accept_sparse="csr",
                dtype="numeric",
                ensure_all_finite=False,
            )
        validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def _represent(self, X: Any) -> Any:
        return X if self.representation_ is None else self.representation_.transform(X)

    def _student_sees_representation(self) -> bool:
        """A representation the caller chose serves both; the automatic one is for teachers."""
        return self.representation is not None and not isinstance(self.representation, str)

    def _warn(self, how: Resolved, n_records: int) -> None:
        if how.neighbouring is not Neighbouring.ADD_REMOVE and self.delta > 1 / n_records:
            warnings.warn(
                f"`delta` {self.delta:g} is above 1/n = {1 / n_records:.3g}: a guarantee this weak "
                "allows whole records to be published. Choose a smaller delta.",
                UserWarning,
                stacklevel=3,
            )

    def _tell(self, how: Resolved, released: Released) -> None:
        spent = price(released.usage, delta=self.delta).epsilon if released.usage else 0.0
        self.resolved_params_ = how.chosen
        self.privacy_ = PrivacyStatement(
            epsilon=released.plan.guarantee.epsilon,
            delta=released.plan.guarantee.delta,
            spent_epsilon=spent,
            neighbouring=how.neighbouring,
            unit=how.unit,
            mechanism=how.mechanism.name,
            accountant=released.plan.accountant,
            questions=len(released.answers),
            assumptions=how.assumptions,
            secure=all(answer.secure for answer in released.answers),
        )
        self._report = run_report(self.privacy_, released, self.classes_, how.chosen, __version__)

    # ---- public results -------------------------------------------------------------------------

    def report(self) -> RunReport:
        """Return what was asked, released, refused, spent and assumed."""
        check_is_fitted(self)
        return self._report

    def _points(self, X: Any) -> Any:
        check_is_fitted(self)
        points = self._checked_points(X)
        return self._represent(points) if self._student_sees_representation() else points

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the student's label for every point."""
        points = self._points(X)
        found: NDArray[Any] = self.classes_[self.student_.predict(points)]
        return found

    @_student_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probability of every class."""
        points = self._points(X)
        found: NDArray[np.float64] = self.student_.predict_proba(points)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "student_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def _repr_html_(self) -> str:
        shown = super()._repr_html_()
        statement = self.privacy_._repr_html_() if hasattr(self, "privacy_") else ""
        return f"<div>{shown}{statement}</div>"

    def __getstate__(self) -> dict[str, Any]:
        """Public results only: the learner and the ledger stay behind."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "student_" in state:
            state["ledger"] = None
        return state


def _plain(X: Any) -> bool:
    """Whether X is a table of numbers as far as its kind says."""
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        return all(getattr(dtype, "kind", "O") in "biuf" for dtype in np.atleast_1d(X.dtypes))
    if isinstance(X, list | tuple):
        return not (len(X) and isinstance(X[0], str))
    return True
