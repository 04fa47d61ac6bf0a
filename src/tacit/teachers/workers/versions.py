"""Which versions a worker must have: those of the process that sends it work. Public."""

from __future__ import annotations

import functools
import hashlib
import importlib
import sys
from collections.abc import Mapping
from typing import Any

import threadpoolctl

from tacit.errors import WorkersFailed
from tacit.teachers.learner import parts

_OWN = ("python", "processor")
_ALWAYS = ("numpy", "scipy", "sklearn", "tacit")


def versions_behind(learner: Any) -> dict[str, str]:
    """Return the versions of Python, of tacit and of what a learner is made of; the processor.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> sorted(versions_behind(LogisticRegression()))
    ['numpy', 'processor', 'python', 'scipy', 'sklearn', 'tacit']
    """
    names = {*_ALWAYS, *(_package(part) for part in parts(learner))}
    return dict(versions_of(tuple(sorted(names - {"builtins", "__main__"}))))


@functools.cache
def versions_of(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of packages in this process; without one, that they are missing."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    own = {"python": python, "processor": processor()}
    return own | {name: _version(name) for name in packages}


@functools.cache
def processor() -> str:
    """Return a name for how this process multiplies matrices: equal names, equal bits.

    Which worker gets a shard may depend on how long others took. Were the processors different,
    another shard's records could decide in which bits a correction comes out.
    """
    importlib.import_module("scipy.linalg")  # both libraries are loaded then, here and elsewhere
    own = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
    kernels = {str(one.get("architecture", one["internal_api"])) for one in own if _numeric(one)}
    enabled = ",".join(sorted(_features()))
    return f"{'/'.join(sorted(kernels))}-{hashlib.sha256(enabled.encode()).hexdigest()[:6]}"


def _features() -> list[str]:
    """Return what NumPy uses of the processor; nothing where it does not say."""
    try:
        features = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    except (ImportError, AttributeError):
        return []
    return [name for name, enabled in features.items() if enabled]


def _numeric(library: dict[str, Any]) -> bool:
    """Whether a library is that of NumPy or SciPy: a learner may bring its own, later."""
    return any(name in str(library["filepath"]) for name in ("numpy", "scipy"))


def differing(expected: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return what differs in this process: the version here and the one wanted."""
    here = versions_of(tuple(name for name in expected if name not in _OWN))
    return {name: (here[name], expected[name]) for name in expected if here[name] != expected[name]}


def refuse_differing(differences: Mapping[str, tuple[str, str]]) -> None:
    """Raise over what a worker reported."""
    differing_versions = ", ".join(
        f"{name} {there} (here {here})" for name, (there, here) in differences.items()
    )
    advice = "install the same everywhere"
    if set(differences) == {"processor"}:
        advice = "use nodes of one kind, or set OPENBLAS_CORETYPE and NPY_DISABLE_CPU_FEATURES"
    raise WorkersFailed(
        f"A worker has other versions than this process: {differing_versions}. Teachers of "
        f"different versions may vote differently: {advice}."
    )


def _package(part: Any) -> str:
    return type(part).__module__.partition(".")[0]


def _version(name: str) -> str:
    try:
        return str(getattr(importlib.import_module(name), "__version__", "without a version"))
    except ImportError:
        return "missing"
