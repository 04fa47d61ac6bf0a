"""Which versions a worker must have: those of the process that sends it work. Public."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from typing import Any

from tacit.errors import WorkersFailed
from tacit.teachers.learner import parts

_ALWAYS = ("numpy", "scipy", "sklearn", "tacit")


def versions_behind(learner: Any) -> dict[str, str]:
    """Return the versions of Python, of tacit and of what a learner is made of.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> sorted(versions_behind(LogisticRegression()))
    ['numpy', 'python', 'scipy', 'sklearn', 'tacit']
    """
    names = {*_ALWAYS, *(_package(part) for part in parts(learner))}
    return dict(versions_of(tuple(sorted(names - {"builtins", "__main__"}))))


@functools.cache
def versions_of(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of packages in this process; without one, that they are missing."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"python": python} | {name: _version(name) for name in packages}


def differing(wanted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return what differs in this process: the version here and the one wanted."""
    here = versions_of(tuple(name for name in wanted if name != "python"))
    return {name: (here[name], wanted[name]) for name in wanted if here[name] != wanted[name]}


def refuse_differing(found: Mapping[str, tuple[str, str]]) -> None:
    """Raise over what a worker reported."""
    told = ", ".join(f"{name} {there} (here {here})" for name, (there, here) in found.items())
    raise WorkersFailed(
        f"A worker has other versions than this process: {told}. Teachers of different versions "
        "may vote differently: install the same everywhere."
    )


def _package(part: Any) -> str:
    return type(part).__module__.partition(".")[0]


def _version(name: str) -> str:
    try:
        return str(getattr(importlib.import_module(name), "__version__", "without a version"))
    except ImportError:
        return "missing"
