"""PATEClassifier: the scikit-learn face of the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit import validation
from tacit.accounting.budget import Budget, Neighbouring
from tacit.data.pool import PublicPool, n_rows
from tacit.errors import InvalidArgument, LedgerError
from tacit.estimators import pipeline
from tacit.estimators.checks import class_list, generator, noisy_budget, workers
from tacit.estimators.combinations import check_combination, resolve_method
from tacit.estimators.inputs import Inputs, PrivateRecords, read_inputs, source_of
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.pipeline import RunContext, RunState
from tacit.estimators.protection import InputKind
from tacit.estimators.query_loop import QueryLoop
from tacit.estimators.releases import (
    Released,
    ReleasedCorrections,
    ReleasedRounds,
    ReleasedVotes,
    released_values,
)
from tacit.estimators.resolve import FitSettings, resolve
from tacit.estimators.schema_checks import checked_points
from tacit.estimators.signal import signal_of
from tacit.estimators.statements import (
    print_memory_estimate,
    statement_of,
    warn_about_answers,
    warn_about_delta,
    warn_about_learner,
)
from tacit.estimators.vote_settings import VoteSettings
from tacit.ledger import Ledger, MemoryLedger, open_ledger
from tacit.ledger.ledger import DetachedLedger
from tacit.noise import NoiseSource, SecureNoise
from tacit.report import PublicCheck, RunReport
from tacit.report.build import corrections_report, python_call, run_report
from tacit.report.public_check import check_predictions
from tacit.students.active.curve import LearningCurve, learning_curve
from tacit.students.fitting import FittedStudent
from tacit.teachers.represented import represented
from tacit.validation import is_auto

_FIT_STATE = ("_fit", "_open_questions")
"""Attributes that pickles and copies leave behind: votes are private, and the pool is not ours."""


def _student_has(name: str) -> Any:
    def has(self: PATEClassifier) -> bool:
        if hasattr(self, "student_"):
            return hasattr(self.student_, name)
        return is_auto(self.student) or hasattr(self.student, name)

    return available_if(has)


class PATEClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Private classifier from any learner: teachers vote on public points, a student learns.

    PATE with passive or active student queries ([LZCW21] Algorithms 3 and 5, [BTT18] Algorithm 3).
    The learner you trust is trained, unchanged, on disjoint shards of the private records; only its
    copies' votes on public points are released, with noise; a student trained on those is the
    public model, and may choose which points to ask about.

    Parameters
    ----------
    learner : object with ``fit`` and ``predict``, optional
        Trained on every shard; anything fitted inside it is fitted per shard. None: built-in
        logistic teachers, fitted all at once.
    epsilon, delta : float
        The budget of one ``fit``. Keep delta below one over the number of records.
    classes : array of labels
        The possible labels, which must be public. Labels are compared by canonical form: 1, 1.0,
        "1" and True are one label.
    schema : Schema, optional
        What every column holds. By default it is inferred from ``X_public``.
    method : "auto", Votes or Corrections
        ``Votes(...)``: teachers vote on public points, and any student learns from that.
        ``Corrections(...)``: teachers correct a linear student in rounds. Each carries its own
        settings. "auto": ``Corrections()`` for the built-in teachers and for linear learners with
        sample weights, ``Votes()`` for other learners or with a ``student``.
    student : "auto" or estimator
        Trained on released votes. "auto": one that uses the variance of noisy shares, linear in
        coordinates learnt from the pool (``NoiseAwareStudent``) or with a kernel
        (``KernelStudent``), whichever explains the released shares better; with ``Corrections`` the
        linear student that is corrected. Students that take unlabelled points (scikit-learn's
        ``semi_supervised``) get the rest of the pool too.
    representation : "auto", None or transformer
        Fitted on the pool alone. A transformer is applied to every point, for teachers and
        student. "auto": principal coordinates for teachers that are linear models on numbers,
        nothing for others. With ``Corrections`` the student is linear in it, so that a richer one
        makes a richer student: "auto" gives built-in teachers columns, steps and kernels of a
        table, None only its columns.
    protect : {"records", "labels"}
        ``records`` needs ``X_public`` in ``fit``. ``labels`` treats features as public and protects
        labels alone; without ``X_public`` part of the records give up their labels as the pool.
    neighbouring : {"replace", "add-remove"}
        See ``Neighbouring``. ``add-remove`` needs ``groups`` (identifiers) and ``n_teachers``.
    n_teachers : int or "auto"
        "auto": by a closed rule on public sizes (``tacit.planning.rules``). ``tacit plan`` looks at
        evidence too.
    ledger : path, URL or Ledger, optional
        Where spends add up over fits. By default each fit has its own ledger, and several fits have
        to be added up by you.
    n_jobs : int, optional
        As in joblib.
    random_state : int, optional
        Drives sharding and training, never privacy noise.
    verbose : bool, optional
        Progress bar; by default when there is a terminal.

    Attributes
    ----------
    classes_ : ndarray
    schema_ : Schema
        How every cell was read.
    privacy_ : PrivacyStatement
    student_ : the fitted public model
    resolved_params_ : dict
        What every "auto" chose.
    representation_ : fitted transformer or None
    released_ : ReleasedVotes or ReleasedCorrections
        What was released: ``positions`` in the pool, ``labels`` (class indices) or ``shares`` with
        their ``variance``, ``classes`` and the guarantee (``privacy``). Set before the student is
        fitted and kept when that fails: any number of students may learn from it, free of charge.

    Notes
    -----
    Privacy: one ``fit`` is (epsilon, delta) private for the relation in ``privacy_``. Pickles and
    copies of the fitted object hold public results only and may be handed out; the object itself
    keeps the votes while planned questions are left (``keep_asking``). Every further ``fit`` on the
    same records spends again, cross-validation and grid search included.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 4)); y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> pool = rng.normal(size=(100, 4))
    >>> clf = PATEClassifier(epsilon=1.0, delta=1e-5, classes=[0, 1])
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
        schema: Any = None,
        method: Any = "auto",
        student: Any = "auto",
        representation: Any = "auto",
        protect: str = "records",
        neighbouring: str = "replace",
        n_teachers: int | str = "auto",
        ledger: Any = None,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.learner = learner
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.schema = schema
        self.method = method
        self.student = student
        self.representation = representation
        self.protect = protect
        self.neighbouring = neighbouring
        self.n_teachers = n_teachers
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a method as ``method__n_questions`` and the like."""
        nested = [name for name in params if name.startswith("method__")]
        if nested and isinstance(params.get("method", self.method), str):
            raise InvalidArgument(
                f"`{nested[0]}` needs a method to be set on: give method=Votes() or "
                "method=Corrections() in the place of 'auto'."
            )
        result: Self = super().set_params(**params)
        return result

    # ---- fit ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, X_public: Any = None, groups: Any = None) -> Self:
        """Train teachers, release their votes, train the student.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of texts, ShardFolder or ExternalVotes
            Private records. Those of ``tacit.data.shards.open_shards`` stay in their files: workers
            read them, there is one teacher per shard, and ``neighbouring`` must be "add-remove".
            Or what teachers voted elsewhere (``tacit.labeling.read_counts``): no ``learner`` is
            needed then.
        y : array of labels
            Private. A label that is not in ``classes`` is ignored. Left out with shards, which
            hold labels, and with votes.
        X_public : the same kind as X, or PublicPool
            Public points. Wrap them in ``PublicPool`` when there are as many as records.
        groups : array, optional
            Whom each record belongs to: one person's records are protected together.

        Notes
        -----
        When it fails after questions were asked (a student that cannot be fitted, an interruption),
        what was released is in ``released_``, and the model is otherwise as before: the teachers'
        votes are gone, and the remaining planned questions cannot be asked.
        """
        budget = noisy_budget(self.epsilon, self.delta)
        rng = generator(self.random_state)
        with _restored_on_failure(self):
            for name in _FIT_STATE:
                self.__dict__.pop(name, None)
            source = source_of(X)
            method = self._method(source)
            has_groups = groups is not None
            neighbouring = check_combination(
                self, method, source, has_pool=X_public is not None, has_groups=has_groups
            )
            inputs = read_inputs(self, X, y, X_public, groups, rng)
            noise = self._noise()
            state = self._run_state(noise)
            settings, records = self._resolve(
                method, neighbouring, inputs, budget, noise, state.assumptions
            )
            self.representation_, self._represented = settings.representation, settings.represented
            if is_auto(self.method) and isinstance(settings, VoteSettings):
                warn_about_learner(settings, len(self.classes_))
            call = python_call(self.get_params(deep=False), method, settings.chosen)
            fit = _Fit(settings, inputs.pool, inputs.rows, rng, noise.secure, call)
            context = RunContext(
                self.schema_,
                self.classes_,
                budget,
                self._ledger(budget, settings),
                noise,
                rng,
                state,
                n_jobs=workers(self.n_jobs),
                progress=self.verbose,
            )
            with self._described(fit):
                result = pipeline.run(records, inputs.pool, settings, context, fit.publish)
            self._conclude(fit, result.student, result.open_questions)
        return self

    def _class_list(self, y: Any) -> NDArray[Any]:
        """Return the sorted list of classes. Tests of scikit-learn's contract override this."""
        return class_list(self.classes)

    def _method(self, source: InputKind) -> Votes | Corrections:
        """Return the method in force. A project overrides this."""
        return resolve_method(self, source)

    def _resolve(
        self,
        method: Votes | Corrections,
        neighbouring: Neighbouring,
        inputs: Inputs,
        budget: Budget,
        noise: NoiseSource,
        assumptions: tuple[str, ...],
    ) -> tuple[FitSettings, PrivateRecords]:
        """Return the settings in force, from public facts alone, and the records to shard."""
        records = inputs.records
        settings, assignment = resolve(
            self,
            method,
            neighbouring,
            inputs.pool,
            budget,
            len(self.classes_),
            n_records=records.n_records,
            people=records.people,
            noise=noise,
            existing=records.existing_teachers,
            own_features=records.existing_teachers is None and inputs.rows is not None,
            input_assumptions=assumptions,
        )
        warn_about_delta(self.delta, settings.protection)
        if self.verbose and isinstance(settings, VoteSettings):
            print_memory_estimate(settings, self.classes_, self.n_jobs)
        return settings, replace(records, assignment=assignment)

    @contextmanager
    def _described(self, fit: _Fit) -> Iterator[None]:
        """Describe what was released in this block, also when it fails: it is paid for."""
        try:
            yield
        finally:
            release = fit.release
            if release is not None:
                chosen, classes = fit.settings.chosen, self.classes_
                self.resolved_params_ = chosen
                self.privacy_ = statement_of(fit.settings, release, secure=fit.secure)
                self.released_: ReleasedVotes | ReleasedCorrections = released_values(
                    release, fit.rows, classes, self.privacy_
                )
                if isinstance(release, Released):
                    self._report = run_report(self.privacy_, release, classes, chosen, fit.call)
                else:
                    self._report = corrections_report(self.privacy_, chosen, fit.call)

    def _conclude(
        self, fit: _Fit, student: FittedStudent, open_questions: QueryLoop | None
    ) -> None:
        """Set the student; votes are kept no longer than planned questions are left."""
        self.student_: FittedStudent = student
        self._fit = fit
        if fit.release is not None:
            signal = signal_of(fit.settings, fit.release, fit.pool, len(self.classes_))
            self._report = replace(self._report, signal=signal)
        if is_auto(self.student):
            self.resolved_params_ = {**self.resolved_params_, "student": student.name}
            self._report = replace(self._report, settings=self.resolved_params_)
        if isinstance(fit.release, Released):
            self.__dict__.pop("_open_questions", None)
            if open_questions is not None and open_questions.left(fit.release) > 0:
                self._open_questions = open_questions
        if isinstance(self.released_, ReleasedVotes):
            warn_about_answers(self.released_)

    def keep_asking(self, n: int | None = None, query: Any = None) -> Self:
        """Ask what is left of the planned questions, and train the student on all answers.

        A strategy may stop before all planned questions are asked. The guarantee was fixed for all
        of them, so asking the rest does not raise it. With a ``noise_rule`` every batch is written
        to the ledger as it is asked, and one that other fits share may have no room by then.

        Parameters
        ----------
        n : int, optional
            Maximum number; by default all that are left.
        query : name or Strategy, optional
            Who chooses them; by default the strategy of the fit, or "diverse-margin" when that one
            had no more questions.

        Raises
        ------
        InvalidArgument
            When nothing is left, or the votes are gone: a model that was saved, copied or sent
            elsewhere left them behind.
        """
        check_is_fitted(self)
        if n is not None:
            validation.positive_integer(n=n)
        if isinstance(self.released_, ReleasedCorrections):
            raise InvalidArgument(
                "`keep_asking` is about questions, and this model was fitted with Corrections, "
                "which asks none."
            )
        open_questions: QueryLoop | None = self.__dict__.get("_open_questions")
        if open_questions is None:
            raise InvalidArgument(
                "`keep_asking` has nothing left to ask: all planned questions were asked, or this "
                "model was copied or loaded, and the teachers' votes stayed behind."
            )
        # All of it is about the same fit: what was released until a failure is kept.
        with _restored_on_failure(self, "_fit", "privacy_", "_report"):
            self._fit = fit = replace(self._fit)
            assert isinstance(fit.release, Released)
            with self._described(fit):
                release = open_questions.release(fit.release, publish=fit.publish, query=query, n=n)
                fit.publish(release)
            self._conclude(fit, self._student_of(release), open_questions)
        return self

    def _student_of(self, release: Released) -> FittedStudent:
        fit = self._fit
        assert isinstance(fit.settings, VoteSettings)
        return pipeline.student_of(
            release, fit.pool, fit.settings, len(self.classes_), fit.rng, self.student
        )

    def learning_curve(self, X: Any = None, y: Any = None) -> LearningCurve:
        """Return how the student grew from batch to batch.

        Accuracy is not known privately. The curve shows how many of the labels that came next the
        student of that moment had foreseen, and test accuracy only for labelled *public* points.

        Parameters
        ----------
        X, y : points and labels, optional
            Public, labelled, used for nothing else.
        """
        check_is_fitted(self)
        if isinstance(self.released_, ReleasedCorrections):
            raise InvalidArgument(
                "`learning_curve` is about questions, and this model was fitted with "
                "Corrections, which asks none."
            )
        if "_fit" not in self.__dict__:
            raise InvalidArgument(
                "`learning_curve` needs the pool, which a model that was copied or loaded left "
                "behind: call it on the model that was fitted."
            )
        fit, test = self._fit, None
        if X is not None or y is not None:
            _one_label_each(X, y)
            index = {label: number for number, label in enumerate(self.classes_.tolist())}
            labels = np.asarray(y).tolist()
            test = self._points(X), np.array([index.get(label, -1) for label in labels])
        assert isinstance(fit.settings, VoteSettings)
        points = fit.settings.student_points(fit.pool)
        return learning_curve(fit.release, self._student_of, points, test=test)

    def _noise(self) -> NoiseSource:
        """The secure source. Tests override it; their releases are marked as insecure."""
        return SecureNoise()

    def _run_state(self, noise: NoiseSource) -> RunState:
        """Return the state of this run: a new one, in memory. A project overrides this."""
        return RunState(key=f"fit-{noise.bits(64):016x}")

    def _ledger(self, budget: Budget, settings: FitSettings) -> Ledger:
        """Return the ledger to spend from: one of this fit alone unless one was given."""
        if self.ledger is None:
            # Batches whose noise is chosen on the way are plans of their own, which zCDP adds up
            # best.
            has_rule = isinstance(settings, VoteSettings) and settings.noise_rule is not None
            return MemoryLedger(budget, composition="zcdp" if has_rule else "basic")
        if isinstance(self.ledger, DetachedLedger):
            raise LedgerError(
                "This estimator was pickled, and its ledger stayed behind. Give it one before "
                "fitting again: set_params(ledger=...)."
            )
        return open_ledger(self.ledger)

    # ---- public results -------------------------------------------------------------------------

    def report(self, X: Any = None, y: Any = None, *, curve: bool = False) -> RunReport:
        """Return what was asked, released, refused, spent and assumed.

        Parameters
        ----------
        X, y : points and labels, optional
            Public and labelled: adds predictions against labels. The same from private records
            would be a private number, and must not be shown.
        curve : bool
            Add the learning curve, for which a student is fitted after every batch.
        """
        check_is_fitted(self)
        report = self._report
        if X is not None:
            report = replace(report, check=self._check(X, y))
        if curve:
            report = replace(report, curve=self.learning_curve(X, y))
        return report

    def _check(self, X: Any, y: Any) -> PublicCheck:
        _one_label_each(X, y)
        predicted, actual = self.predict(X).tolist(), np.asarray(y).tolist()
        return check_predictions(self.classes_.tolist(), predicted, actual)

    def _points(self, X: Any) -> Any:
        check_is_fitted(self)
        points = checked_points(self, X, reset=False)
        return represented(self.representation_, points) if self._represented else points

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the student's label for every point."""
        points = self._points(X)
        labels: NDArray[Any] = self.classes_[self.student_.predict(points)]
        return labels

    @_student_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probability of every class."""
        points = self._points(X)
        probabilities: NDArray[np.float64] = self.student_.predict_proba(points)
        return probabilities

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "student_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, then the statement."""
        diagram = super()._html_repr()
        statement = self.privacy_._repr_html_() if hasattr(self, "privacy_") else ""
        return f"<div>{diagram}{statement}</div>"

    def __getstate__(self) -> dict[str, Any]:
        """Public results only: the ledger stays behind once there are any.

        Before a fit the ledger goes along, so that fits in other processes spend from it too; one
        that cannot be shared refuses.
        """
        state: dict[str, Any] = dict(super().__getstate__())
        # Votes are private, and the pool is not the model's to hand on.
        for name in _FIT_STATE:
            state.pop(name, None)
        if "student_" in state and state["ledger"] is not None:
            state["ledger"] = DetachedLedger()
        return state


@dataclass(repr=False)
class _Fit:
    """What a fit needs again when more is asked or its learning curve is shown. Public."""

    settings: FitSettings
    pool: PublicPool
    rows: NDArray[Any] | None
    rng: np.random.Generator
    secure: bool
    call: str
    release: Released | ReleasedRounds | None = None

    def publish(self, release: Released | ReleasedRounds) -> None:
        """Keep everything released so far."""
        self.release = release


@contextmanager
def _restored_on_failure(model: PATEClassifier, *also: str) -> Iterator[None]:
    """Restore a model's attributes when its fit fails; what was released and paid for is kept.

    ``also`` names further attributes that stay as the failed call left them.
    """
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        paid = {name: vars(model)[name] for name in ("released_", *also) if name in vars(model)}
        model.__dict__.clear()
        model.__dict__.update({**before, **paid})
        raise


def _one_label_each(X: Any, y: Any) -> None:
    if X is None or y is None or n_rows(y) != n_rows(X):
        raise InvalidArgument("`y` must hold one label for each point of `X`.")
