"""An oracle, in a directory that only its owner can read: teachers, terms and, later, its ledger.

``ORACLE`` holds the public terms and the form of a point; ``teachers/`` the ensemble. The account
is opened when the oracle is first loaded, as ``ledger.sqlite`` beside them or where the caller
says, and ``ACCOUNT`` then remembers which ledger it is: a second account for the same teachers
would spend the same budget twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tacit import __version__, validation
from tacit.accounting.answer import Answer
from tacit.data import PointReader, Schema
from tacit.errors import (
    InvalidArgument,
    LedgerError,
    PersistenceError,
    SavedFormatError,
)
from tacit.estimators.oracle.estimate import ESTIMATE, estimate_plan
from tacit.estimators.oracle.private_oracle import PrivateOracle
from tacit.estimators.oracle.terms import OracleTerms
from tacit.files.atomic import PathLike, write_new
from tacit.files.private import FILE_MODE, PrivateDirectory
from tacit.labeling.source import VotingSource
from tacit.ledger import FixedPriceRelease, Ledger, MemoryLedger, open_ledger
from tacit.persistence import envelope, manifest, oracle_terms
from tacit.persistence.ensemble import load_ensemble, save_ensemble
from tacit.persistence.files import new_directory
from tacit.teachers.vote import TeacherEnsemble

FORMAT_VERSION = 1
KIND = "oracle"
ORACLE = "ORACLE"
ACCOUNT = "ACCOUNT"
TEACHERS = "teachers"
LEDGER = "ledger.sqlite"


def save_oracle(oracle: PrivateOracle, directory: PathLike) -> None:
    """Save a fitted oracle for later questions, for the holder of the records alone.

    Parameters
    ----------
    oracle : PrivateOracle
        Private. One without a ledger of its own hands its account over: it answers no more, and
        what was reserved moves to the ledger that the first ``load_oracle`` opens. It must not
        have answered anything yet; to save it after that, fit it with ``ledger=`` a path or URL.
    directory : path
        Must not exist. Made with mode 0700, its files with 0600; there whole or not at all.

    Raises
    ------
    InvalidArgument
        When something is there already.
    PersistenceError
        When the teachers or the mechanism cannot be saved, or the disk refuses.
    LedgerError
        When the oracle has answered from a ledger in memory, which would forget it.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> oracle = PrivateOracle(
    ...     LogisticRegression(), epsilon=2.0, classes=[0, 1], n_teachers=300
    ... ).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_oracle(oracle, f"{folder}/flu")
    ...     again = load_oracle(f"{folder}/flu")
    ...     print(again.ask([[3.0, 0.0]]).tolist())
    ...     again.close()
    [1]
    """
    validation.instance(PrivateOracle, oracle=oracle)
    target = Path(directory)
    if os.path.lexists(target):
        raise InvalidArgument(f"`directory` must not exist, got {str(target)!r}.")
    teachers = _teachers(oracle)
    ledger = oracle.opened().ledger
    if not isinstance(ledger, MemoryLedger):
        _write(oracle, teachers, ledger, target)
        return
    with oracle.handing_over():
        _refuse_answered(oracle)
        _write(oracle, teachers, ledger, target)


def _write(oracle: PrivateOracle, teachers: TeacherEnsemble, ledger: Ledger, target: Path) -> None:
    in_memory = isinstance(ledger, MemoryLedger)
    fields = {
        "format_version": FORMAT_VERSION,
        "tacit": __version__,
        "terms": oracle_terms.to_dict(oracle.terms_),
        "points": _reader_to_dict(oracle.reader),
        "estimate": _recorded_estimate(oracle.terms_, ledger) if in_memory else None,
        "ledger": None if in_memory else _identity(ledger),
    }
    with new_directory(target, overwrite=False) as folder:
        save_ensemble(teachers, folder / TEACHERS)
        sealed = envelope.seal(KIND, FORMAT_VERSION, manifest.to_json(fields))
        write_new(folder / ORACLE, sealed, mode=FILE_MODE)


def load_oracle(
    directory: PathLike, *, ledger: Any = None, trusted: Iterable[str] = ()
) -> PrivateOracle:
    """Load an oracle that continues with its account.

    Parameters
    ----------
    directory : path
        Must belong to the user and be closed to all others, as must its files.
    ledger : path, URL or Ledger, optional
        Where the account is. Left out: ``ledger.sqlite`` in the directory, made when the oracle is
        loaded for the first time. Once an account is opened no other is accepted.
    trusted : iterable of str
        As for ``load_ensemble``.

    Returns
    -------
    PrivateOracle
        Its answers so far, and what is left, are those of the account.

    Raises
    ------
    LedgerError
        When the ledger is not the one this oracle's account is on.
    ExposedFiles, DamagedFile, SavedFormatError, UntrustedTypes, PersistenceError
        As for ``load_ensemble``.
    """
    folder, where = Path(directory), repr(str(directory))
    fields, account = _read_saved(folder, where)
    try:
        terms, vote = oracle_terms.from_dict(fields["terms"])
        reader = _reader_from_dict(fields["points"])
        bound = account or fields["ledger"]
    except PersistenceError:
        raise
    except Exception as error:
        raise SavedFormatError(f"{where} cannot be read: {type(error).__name__}.") from None
    ensemble = load_ensemble(folder / TEACHERS, trusted=trusted)
    opened_ledger = _account(folder, ledger, terms, bound, fields["estimate"])
    source = VotingSource(ensemble, vote, ensemble.classes.labels, delta=terms.delta)
    oracle = PrivateOracle(
        epsilon=terms.budget.epsilon, delta=terms.budget.delta, ledger=opened_ledger
    )
    return oracle._open(terms, reader, source, opened_ledger, oracle._noise())


def account_elsewhere(directory: PathLike) -> bool:
    """Return whether a saved oracle has an account, and that is not in its directory."""
    folder = Path(directory)
    fields, account = _read_saved(folder, repr(str(directory)))
    return bool(account or fields.get("ledger")) and not (folder / LEDGER).exists()


def _read_saved(folder: Path, where: str) -> tuple[Mapping[str, Any], str | None]:
    """Return what was saved, and which ledger was chosen since, if one was."""
    with PrivateDirectory(folder) as opened:
        names = opened.names()
        if ORACLE not in names:
            raise SavedFormatError(f"{where} was not saved by tacit as oracle: it has no {ORACLE}.")
        sealed = envelope.read(opened.read(ORACLE), KIND, where=where)
        content = sealed.opened(FORMAT_VERSION, where=where)
        fields = manifest.from_json(content, where=where)
        account = None
        if ACCOUNT in names:
            account = manifest.from_json(opened.read(ACCOUNT), where=where)["ledger"]
        if LEDGER in names:
            opened.check(LEDGER)
    return fields, account


def _teachers(oracle: PrivateOracle) -> TeacherEnsemble:
    source = oracle.private_source()
    voters = source.private_voters() if isinstance(source, VotingSource) else None
    if not isinstance(voters, TeacherEnsemble):
        raise PersistenceError("Only oracles that hold their own teachers can be saved.")
    return voters


# ---- the account --------------------------------------------------------------------------------


def _account(
    folder: Path, given: Any, terms: OracleTerms, bound: str | None, estimate: Any
) -> Ledger:
    """Return the ledger of the oracle; opened now if it has none yet."""
    inside = folder / LEDGER
    if bound is not None:
        if given is None and not inside.exists():
            raise LedgerError(
                "The account of this oracle is not in its directory: pass it as "
                "`ledger`, a path or a URL."
            )
        ledger = open_ledger(inside if given is None else given)
        if _identity(ledger) != bound:
            raise LedgerError(
                "This ledger is not the one this oracle's account is on: a second account would "
                "spend the same budget twice."
            )
        return ledger
    ledger = _first_opened(inside, given, terms)
    _carry_estimate(ledger, terms, estimate)
    try:
        write_new(folder / ACCOUNT, manifest.to_json({"ledger": _identity(ledger)}), mode=FILE_MODE)
    except FileExistsError:
        # Another process was first: its choice stands.
        with PrivateDirectory(folder) as opened:
            chosen = manifest.from_json(opened.read(ACCOUNT), where=repr(str(folder)))["ledger"]
        return _account(folder, given, terms, chosen, estimate)
    return ledger


def _first_opened(inside: Path, given: Any, terms: OracleTerms) -> Ledger:
    """Return the ledger there is, with a lifetime budget of its own, or a new one."""
    if given is None:
        return open_ledger(inside, budget=terms.budget)
    try:
        return open_ledger(given)
    except InvalidArgument:
        return open_ledger(given, budget=terms.budget)


def _identity(ledger: Ledger) -> str:
    identity = getattr(ledger, "ledger_id", None)
    if not isinstance(identity, str):
        raise LedgerError("This kind of ledger has no identity to be recognised by.")
    return identity


def _refuse_answered(oracle: PrivateOracle) -> None:
    if any(oracle.budget_left().used.values()):
        raise LedgerError(
            "This oracle has answered from a ledger in memory, which cannot be saved. Fit it with "
            "ledger= a path or URL to save it after it has answered."
        )


def _recorded_estimate(terms: OracleTerms, ledger: Ledger) -> Any:
    """Return the estimate as it was released, with its plan, for the ledger to come."""
    if terms.estimate is None:
        return None
    plan_id = _plan_of_estimate(terms, ledger)
    answer = ledger.recorded(plan_id, [ESTIMATE])[ESTIMATE]
    return {"values": answer.values, "secure": answer.secure}


def _plan_of_estimate(terms: OracleTerms, ledger: Ledger) -> Any:
    return ledger.open_plan(estimate_plan(terms), terms.estimate_key)


def _carry_estimate(ledger: Ledger, terms: OracleTerms, saved: Any) -> None:
    """Record in a new ledger what was released, and paid for, before it existed."""
    if saved is None:
        return
    plan_id = _plan_of_estimate(terms, ledger)
    plan = ledger.plan(plan_id)
    cost = tuple(event for event, _ in plan.events)
    values = tuple(int(value) for value in saved["values"])
    answer = Answer(plan.output, values, plan.unit, plan.sigma, cost, bool(saved["secure"]))
    # It has left already: its record moves, nothing is drawn.
    release = FixedPriceRelease(lambda questions: dict(plan.events), lambda new: [answer])
    ledger.answer(plan_id, [ESTIMATE], release)


# ---- how questions are read ----------------------------------------------------------------------


def _reader_to_dict(reader: PointReader) -> dict[str, Any]:
    return {"schema": reader.schema.to_dict(), "missing": reader.missing}


def _reader_from_dict(saved: Mapping[str, Any]) -> PointReader:
    return PointReader(Schema.from_dict(saved["schema"]), missing=bool(saved["missing"]))
