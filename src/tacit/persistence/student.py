"""The student alone, in one public file.

A file is the line of ``tacit.persistence.envelope``, a line of JSON (the manifest), and the model
in the format of skops. Everything in it was released: it can be handed to anyone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tacit import __version__
from tacit.data import Schema
from tacit.errors import DamagedFile, InvalidArgument, PersistenceError
from tacit.files.atomic import PathLike, read_file, replace_file
from tacit.persistence import envelope, manifest, models
from tacit.persistence.public_model import PublicModel
from tacit.report import RunReport
from tacit.report.from_json import statement_of
from tacit.students.fitting import FittedStudent

FORMAT_VERSION = 1
KIND = "student"


def save_student(clf: Any, path: PathLike) -> None:
    """Save the public side of a fitted classifier in one file.

    Parameters
    ----------
    clf : fitted PATEClassifier, or PublicModel
    path : path
        Replaced if it exists: the old file stays until the new one is complete on the disk.

    Raises
    ------
    InvalidArgument
        When the classifier is not fitted.
    PersistenceError
        When the student's type cannot be saved, or the file cannot be written. Nothing is
        changed then.

    Privacy
    -------
    Writes the student, the list of classes, the statement, the report and the form of a point;
    all of these are released or public. Neither the learner nor any teacher is written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from tacit import PATEClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)); y = (X[:, 0] > 0).astype(int)
    >>> clf = PATEClassifier(epsilon=1.0, delta=1e-5, classes=[0, 1])
    >>> clf = clf.fit(X, y, X_public=rng.normal(size=(50, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_student(clf, f"{folder}/model.tacit")
    ...     model = load_student(f"{folder}/model.tacit")
    >>> bool((model.predict(X) == clf.predict(X)).all())
    True
    >>> model.privacy_ == clf.privacy_
    True
    """
    _check_fitted(clf)
    representation = _representation(clf)
    steps = [clf.student_.model] if representation is None else [representation, clf.student_.model]
    written = manifest.to_json(_manifest(clf))
    content = written + b"\n" + models.to_bytes(steps)
    replace_file(Path(path), envelope.seal(KIND, FORMAT_VERSION, content))


def load_student(path: PathLike, *, trusted: Iterable[str] = ()) -> PublicModel:
    """Load a student; nothing of the private side is needed.

    Parameters
    ----------
    path : path
    trusted : iterable of str
        Names of further types that the file may make. Beside them only those are made that skops
        trusts (scikit-learn's models, numpy's arrays) and tacit's own; ``trusts_`` of the result
        lists what the file needed beyond skops' list.

    Returns
    -------
    PublicModel

    Raises
    ------
    UntrustedTypes
        When the file holds other types. They are listed, and nothing was made. Trees are among
        them: scikit-learn does not check the indices in a tree, so that a malicious file could
        crash the process.
    DamagedFile, SavedFormatError, PersistenceError
        When the file is damaged, is no student or a later version's, or cannot be read.
    """
    names = models.checked_names(trusted)
    where = repr(str(path))
    sealed = envelope.read(read_file(Path(path)), KIND, where=where)
    return _read(sealed.opened(FORMAT_VERSION, where=where), names, where)


def saved_report(path: PathLike) -> RunReport:
    """Return the report inside a student's file. The model is not made, so nothing is trusted.

    Raises
    ------
    DamagedFile, SavedFormatError, PersistenceError
        As for ``load_student``.
    """
    where = repr(str(path))
    sealed = envelope.read(read_file(Path(path)), KIND, where=where)
    content = sealed.opened(FORMAT_VERSION, where=where)
    fields = manifest.from_json(content.partition(b"\n")[0], where=where)
    try:
        return RunReport.from_dict(fields["report"])
    except Exception as error:
        raise DamagedFile(f"The manifest of {where} lacks or garbles an entry.") from error


def _read(content: bytes, trusted: tuple[str, ...], where: str) -> PublicModel:
    line, _, data = content.partition(b"\n")
    fields = manifest.from_json(line, where=where)
    steps = models.from_bytes(data, (*models.OWN_TYPES, *trusted), where=where)
    try:
        return _public_model(fields, steps, tuple(models.untrusted_types(data)))
    except ModuleNotFoundError as error:  # points of a data frame need pandas
        raise PersistenceError(f"{where} needs a package: {error}.") from error
    except Exception as error:
        raise DamagedFile(f"The manifest of {where} lacks or garbles an entry.") from error


def _public_model(fields: dict[str, Any], steps: Any, trusts: tuple[str, ...]) -> PublicModel:
    *before, model = steps
    classes = manifest.labels_from_dict(fields["classes"])
    privacy = statement_of(fields["privacy"])
    names = fields["feature_names"]
    return PublicModel(
        FittedStudent(model, len(classes)),
        classes=classes,
        privacy=privacy,
        report=replace(RunReport.from_dict(fields["report"]), statement=privacy),
        schema=Schema.from_dict(fields["schema"]),
        representation=before[0] if before else None,
        n_features=fields["n_features"],
        feature_names=None if names is None else tuple(names),
        trusts=trusts,
    )


def _manifest(clf: Any) -> dict[str, Any]:
    names = getattr(clf, "feature_names_in_", None)
    width = getattr(clf, "n_features_in_", None)
    return {
        "format_version": FORMAT_VERSION,
        "tacit": __version__,
        "scikit-learn": version("scikit-learn"),
        "skops": version("skops"),
        "classes": manifest.labels_to_dict(clf.classes_, name="classes"),
        "privacy": clf.privacy_.to_dict(),
        "report": clf.report().to_dict(),
        "schema": clf.schema_.to_dict(),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_features": None if width is None else int(width),
    }


def _check_fitted(clf: Any) -> None:
    for name in ("student_", "classes_", "schema_", "privacy_", "report"):
        if not hasattr(clf, name):
            raise InvalidArgument(
                f"`clf` must be a fitted PATEClassifier or a PublicModel, got a "
                f"{type(clf).__name__} without `{name}`."
            )


def _representation(clf: Any) -> Any:
    """Return what points go through before the student; the teachers' own stays behind."""
    if isinstance(clf, PublicModel):
        return clf.representation_
    return clf.representation_ if clf._represented else None
