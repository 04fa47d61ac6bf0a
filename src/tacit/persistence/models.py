"""Models as bytes, through skops: types that are not trusted are never made."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import skops.io
from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException

from tacit.errors import DamagedFile, InvalidArgument, PersistenceError, UntrustedTypes

OWN_TYPES = (
    "numpy.dtype",
    "tacit.teachers.corrections.coordinates.Coordinates",
    "tacit.data.representations.coordinates.PoolRepresentation",
    "tacit.data.representations.curved.CurvedFeatures",
    "tacit.data.representations.curved.KernelFeatures",
    "tacit.data.representations.encoding.FrameEncoder",
    "tacit.data.representations.encoding.NumberEncoder",
    "tacit.data.representations.encoding.RareWords",
    "tacit.data.representations.steps.StepFeatures",
    "tacit.students.columns.PoolColumns",
    "tacit.students.kernel_student.KernelStudent",
    "tacit.students.linear.LinearStudent",
    "tacit.students.noise_aware.NoiseAwareStudent",
)
"""Trusted everywhere, beside what skops trusts: making one runs nothing that a file chooses."""

OWNER_TYPES = (
    "functools.partial",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._ball_tree.BallTree",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
)
"""Trusted from a directory that only the user can write to. Made by a stranger, a tree can crash
the process, since scikit-learn does not check the indices it holds."""

MOST_BYTES = 2**32
"""A file that unpacks to more is refused: a small one can claim any size."""


def to_bytes(model: Any) -> bytes:
    """Return a model as bytes that were loaded once as a check.

    Raises
    ------
    PersistenceError
        When the model cannot be saved; the message names types, never what they hold.
    """
    try:
        data: bytes = skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED)
        # Some types are written without complaint and cannot be made again: refuse them now.
        _loads(data, skops.io.get_untrusted_types(data=data))
    except Exception as error:
        # Its message names a type; those of other errors may show what the model holds.
        named = isinstance(error, UnsupportedTypeException)
        why = f"{type(error).__name__}: {error}" if named else type(error).__name__
        raise PersistenceError(
            f"{type_names(model)} cannot be saved: skops cannot write it and make it again "
            f"({why}). Use a model whose class stands in a module and whose "
            "attributes are numbers, texts, arrays, containers or scikit-learn objects."
        ) from None
    return data


def from_bytes(data: bytes, trusted: Sequence[str], *, where: str) -> Any:
    """Return the model in some bytes.

    Parameters
    ----------
    data : bytes
    trusted : sequence of str
        Types to make besides those that skops trusts.
    where : str
        What to call the bytes in a message.

    Raises
    ------
    UntrustedTypes
        When there are others; nothing was made.
    DamagedFile
        When this is no model.
    """
    try:
        return _loads(data, trusted)
    except UntrustedTypesFoundException:
        raise _untrusted(set(untrusted_types(data)) - set(trusted), where) from None
    except ImportError as error:  # which names a module, nothing else
        raise PersistenceError(f"The model in {where} needs a package: {error}.") from None
    except Exception as error:
        raise DamagedFile(
            f"The model in {where} cannot be made again ({type(error).__name__}): it is damaged, "
            "or a package it needs is of another version."
        ) from None


def untrusted_types(data: bytes) -> list[str]:
    """Return the types in some bytes that skops alone would not make."""
    types: list[str] = skops.io.get_untrusted_types(data=data)
    return types


def checked_names(trusted: Iterable[str]) -> tuple[str, ...]:
    """Return the caller's list of types to trust."""
    names = (trusted,) if isinstance(trusted, str) else tuple(trusted)
    if not all(isinstance(name, str) for name in names):
        raise InvalidArgument('`trusted` must list types by name, such as "package.module.Class".')
    return names


def type_names(model: Any) -> str:
    """Return the type of a model; of a list, those of its members."""
    members = model if isinstance(model, list) and model else [model]
    kinds = {f"{type(member).__module__}.{type(member).__qualname__}" for member in members}
    return ", ".join(sorted(kinds))


def _loads(data: bytes, trusted: Sequence[str]) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise ValueError("too large")
    return skops.io.loads(data, trusted=list(trusted))


def _untrusted(names: set[str], where: str) -> UntrustedTypes:
    listed = ", ".join(repr(name) for name in sorted(names))
    return UntrustedTypes(
        f"{where} holds types that are not trusted: {listed}. Nothing was loaded. If you know who "
        f"made the file and trust these types, pass trusted=[{listed}]."
    )
