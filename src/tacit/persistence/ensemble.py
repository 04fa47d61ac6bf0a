"""The ensemble, in a directory that only its owner can read.

``MANIFEST`` names every other file with its SHA-256, and carries one itself. ``teachers.npz`` says
what each teacher is; ``linear.npz`` holds stacked linear models; ``learner.skops`` the learner
before it was fitted; ``models-0000.skops`` and on all other models, some per file.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import __version__, validation
from tacit.errors import DamagedFile, InvalidArgument, PersistenceError, SavedFormatError
from tacit.files.atomic import PathLike, read_file, write_new
from tacit.files.private import FILE_MODE, PrivateDirectory
from tacit.persistence import envelope, manifest, models
from tacit.persistence.files import new_directory
from tacit.persistence.row_form import row_form_from_dict, row_form_to_dict
from tacit.persistence.stacked import Arrays, stack, stackable, unstack
from tacit.teachers.labels import ClassList
from tacit.teachers.teacher import Teacher
from tacit.teachers.vote import TeacherEnsemble

FORMAT_VERSION = 1
KIND = "ensemble"
MANIFEST = "MANIFEST"
MODELS_PER_FILE = 100
"""Models held as bytes at a time while saving and loading."""

CONSTANT, STACKED, MODEL = range(3)
_FILE_NAME = re.compile(r"(teachers|linear)\.npz|learner\.skops|models-\d{4,}\.skops")


def save_ensemble(
    ensemble: TeacherEnsemble, directory: PathLike, *, overwrite: bool = False
) -> None:
    """Save teachers for later questions, for the holder of the records alone.

    Parameters
    ----------
    ensemble : TeacherEnsemble
        Private.
    directory : path
        Made with mode 0700, its files with 0600. It is written under another name beside its
        place and then renamed, so that it is there whole or not at all.
    overwrite : bool
        Whether an ensemble that is already there is swapped for this one and removed. Anything
        else there is never touched.

    Raises
    ------
    InvalidArgument
        When something is there and may not be overwritten.
    PersistenceError
        When the models' type cannot be saved, or the disk refuses. Nothing is changed then.

    Privacy
    -------
    What is written was learnt from private records and has no price: it must not leave the hands
    of those who hold the records. Files are not encrypted.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> from tacit.teachers import equal_split, train_teachers
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 2)), rng.integers(2, size=60)
    >>> shards = equal_split(60, 5, rng)
    >>> teachers = train_teachers(LogisticRegression(), X, y, shards, classes=[0, 1], seed=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_ensemble(teachers, f"{folder}/teachers")
    ...     load_ensemble(f"{folder}/teachers")
    TeacherEnsemble(n_teachers=5, learner=LogisticRegression)
    """
    validation.instance(TeacherEnsemble, ensemble=ensemble)
    target = Path(directory)
    _check_target(target, overwrite)
    with new_directory(target, overwrite=overwrite) as folder:
        listed = {}
        for name, data in _files(ensemble):
            write_new(folder / name, data, mode=FILE_MODE)
            listed[name] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        content = manifest.to_json(_manifest(ensemble, listed))
        write_new(folder / MANIFEST, envelope.seal(KIND, FORMAT_VERSION, content), mode=FILE_MODE)


def load_ensemble(directory: PathLike, *, trusted: Iterable[str] = ()) -> TeacherEnsemble:
    """Load teachers that vote as they did when they were saved.

    Parameters
    ----------
    directory : path
        Must belong to the user and be closed to all others, as must its files.
    trusted : iterable of str
        Names of further types that the files may make, beside those that skops trusts, tacit's
        own and scikit-learn's trees. The last are trusted here, not in a student's file, because
        only the user can have written them.

    Returns
    -------
    TeacherEnsemble
        Private.

    Raises
    ------
    ExposedFiles
        When others can read or write the directory or a file; the message has the command to
        close it.
    DamagedFile
        When a checksum fails, or a file is missing, one too many or a link.
    UntrustedTypes, SavedFormatError, PersistenceError
        As for ``load_student``.
    """
    names = models.checked_names(trusted)
    where = repr(str(directory))
    with PrivateDirectory(Path(directory)) as opened:
        if MANIFEST not in opened.names():
            raise SavedFormatError(
                f"{where} was not saved by tacit as ensemble: it has no {MANIFEST}."
            )
        sealed = envelope.read(opened.read(MANIFEST), KIND, where=where)
        return _read(opened, sealed.opened(FORMAT_VERSION, where=where), names, where)


# ---- writing ------------------------------------------------------------------------------------


def _check_target(target: Path, overwrite: bool) -> None:
    if not os.path.lexists(target):
        return
    if not overwrite:
        raise InvalidArgument(
            f"`directory` must not exist, got {str(target)!r}. overwrite=True swaps an ensemble "
            "that is there for this one."
        )
    try:
        envelope.read(read_file(target / MANIFEST), KIND, where=repr(str(target)))
    except PersistenceError:
        raise InvalidArgument(
            f"`directory` must be new or hold an ensemble saved by tacit, got {str(target)!r}: "
            "overwrite=True removes nothing else."
        ) from None


def _files(ensemble: TeacherEnsemble) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of every file but the manifest. Private."""
    teachers, learner, form = ensemble.private_teachers(), ensemble._learner, ensemble._form
    kinds = [_kind(teacher, learner, form.width) for teacher in teachers]
    yield "learner.skops", models.to_bytes(learner)
    yield "teachers.npz", _npz(_teacher_arrays(teachers, kinds))
    stacked = _of_kind(teachers, kinds, STACKED)
    if stacked:
        yield "linear.npz", _npz(stack(stacked, ensemble.classes, form.width or 0))
    others = _of_kind(teachers, kinds, MODEL)
    for number, start in enumerate(range(0, len(others), MODELS_PER_FILE)):
        yield _models_name(number), models.to_bytes(others[start : start + MODELS_PER_FILE])


def _kind(teacher: Teacher, learner: Any, width: int | None) -> int:
    if teacher.model is None:
        return CONSTANT
    plain = teacher.decode is None
    fits = plain and stackable(teacher.model, learner, teacher.classes, width)
    return STACKED if fits else MODEL


def _of_kind(teachers: Sequence[Teacher], kinds: Sequence[int], kind: int) -> list[Any]:
    return [t.model for t, own_kind in zip(teachers, kinds, strict=True) if own_kind == kind]


def _models_name(number: int) -> str:
    return f"models-{number:04d}.skops"


def _teacher_arrays(teachers: Sequence[Teacher], kinds: Sequence[int]) -> Arrays:
    """Return what each teacher is, but for its model: arrays with one entry per teacher."""
    events = sorted({name for teacher in teachers for name in teacher.events})
    decodes = [teacher.decode for teacher in teachers]
    return {
        "kind": np.array(kinds, dtype=np.int8),
        "constant": np.array([teacher.constant for teacher in teachers], dtype=np.int64),
        # -1: the model's answers are labels and need no decoding.
        "n_codes": np.array([-1 if d is None else len(d) for d in decodes], dtype=np.int64),
        "codes": np.concatenate(
            [np.zeros(0, dtype=np.int64), *(d for d in decodes if d is not None)]
        ),
        "event_names": np.array(events, dtype=np.str_),
        "events": np.array(
            [[teacher.events[name] for name in events] for teacher in teachers], dtype=np.int64
        ),
    }


def _npz(arrays: Arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _manifest(ensemble: TeacherEnsemble, listed: dict[str, Any]) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "tacit": __version__,
        "n_teachers": ensemble.n_teachers,
        "classes": manifest.labels_to_dict(ensemble.classes.labels, name="classes"),
        "form": row_form_to_dict(ensemble._form),
        "files": listed,
    }


# ---- reading ------------------------------------------------------------------------------------


def _read(
    opened: PrivateDirectory, content: bytes, trusted: tuple[str, ...], where: str
) -> TeacherEnsemble:
    fields = manifest.from_json(content, where=where)
    allowed = (*models.OWN_TYPES, *models.OWNER_TYPES, *trusted)
    try:
        files = _Files(opened, fields["files"], where)
        classes = ClassList(manifest.labels_from_dict(fields["classes"]))
        form = row_form_from_dict(fields["form"])
        learner = files.model("learner.skops", allowed)
        arrays = files.arrays("teachers.npz")
        models_by_kind = {STACKED: iter(()), MODEL: files.models(allowed)}
        if "linear.npz" in files.names:
            linear = files.arrays("linear.npz")
            models_by_kind[STACKED] = iter(unstack(linear, learner, classes, form.columns))
        teachers = _teachers(arrays, models_by_kind, classes)
        if len(teachers) != fields["n_teachers"]:
            raise ValueError("teachers are missing")
    except PersistenceError:
        raise
    except Exception as error:
        # Checksums hold, so this was written so: by another program, or with a mistake.
        raise DamagedFile(f"{where} does not hold together: {type(error).__name__}.") from None
    return TeacherEnsemble(teachers, learner=learner, form=form)


class _Files:
    """The files of a manifest: all there, none besides, each checked when it is read."""

    def __init__(self, opened: PrivateDirectory, listed: dict[str, Any], where: str) -> None:
        self.names = set(listed)
        self._opened, self._listed, self._where = opened, listed, where
        if not all(_FILE_NAME.fullmatch(name) for name in self.names):
            raise DamagedFile(f"The manifest of {where} names a file that no ensemble has.")
        present = opened.names() - {MANIFEST}
        for names, fault in (
            (self.names - present, "lacks"),
            (present - self.names, "has too many"),
        ):
            if names:
                raise DamagedFile(f"{where} {fault} files: {', '.join(sorted(names))}.")

    def read(self, name: str) -> bytes:
        data = self._opened.read(name)
        if hashlib.sha256(data).hexdigest() != self._listed[name]["sha256"]:
            raise DamagedFile(
                f"{name} in {self._where} is damaged: its checksum does not hold. Restore it from "
                "a copy or train the teachers again."
            )
        return data

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        with np.load(io.BytesIO(self.read(name)), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}

    def model(self, name: str, trusted: tuple[str, ...]) -> Any:
        return models.from_bytes(self.read(name), trusted, where=f"{name} in {self._where}")

    def models(self, trusted: tuple[str, ...]) -> Iterator[Any]:
        """Yield the models that are not stacked, in the order of the teachers."""
        for name in sorted(name for name in self.names if name.startswith("models-")):
            yield from self.model(name, trusted)


def _teachers(
    arrays: dict[str, NDArray[Any]], models_by_kind: dict[int, Iterator[Any]], classes: ClassList
) -> list[Teacher]:
    codes = iter(arrays["codes"])
    names = arrays["event_names"].tolist()
    teachers = []
    for kind, constant, n_codes, counts in zip(
        arrays["kind"].tolist(),
        arrays["constant"].tolist(),
        arrays["n_codes"].tolist(),
        arrays["events"].tolist(),
        strict=True,
    ):
        model = None if kind == CONSTANT else next(models_by_kind[kind])
        decode = None
        if n_codes >= 0:
            decode = np.array([next(codes) for _ in range(n_codes)], dtype=np.int64)
        teacher = Teacher(classes, model, decode=decode, constant=constant)
        teacher.events.update({name: n for name, n in zip(names, counts, strict=True) if n})
        teachers.append(teacher)
    return teachers
