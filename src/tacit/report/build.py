"""Make the report of a run from what was released."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from numbers import Real
from typing import Any

from numpy.typing import NDArray

from tacit import __version__
from tacit.report.run_report import RunReport
from tacit.report.statement import PrivacyStatement

_PACKAGES = ("numpy", "scipy", "scikit-learn", "opendp", "dp-accounting")

_PARAMETERS = (
    "learner", "epsilon", "delta", "classes", "schema", "method", "student", "representation",
    "protect", "neighbouring", "n_teachers",
)  # fmt: skip
_RESOLVED = ("n_teachers", "n_questions", "release", "rounds", "shard_size")


def run_report(
    statement: PrivacyStatement,
    released: Any,
    classes: NDArray[Any],
    settings: dict[str, Any],
    call: str,
) -> RunReport:
    """Return the report of one run; every argument is public."""
    labels = [answer.label for answer in released.answers]
    counted = Counter(label for label in labels if label is not None)
    return RunReport(
        statement=statement,
        asked=len(labels),
        answered=sum(counted.values()),
        refused=labels.count(None),
        released={str(name): counted[index] for index, name in enumerate(classes)},
        settings=settings,
        batches=tuple(released.batches),
        stopped=released.stopped,
        versions=_versions(),
        call=call,
    )


def corrections_report(
    statement: PrivacyStatement, settings: dict[str, Any], call: str
) -> RunReport:
    """Return the report of a run in which teachers corrected a student; all of it public."""
    return RunReport(
        statement=statement,
        asked=0,
        answered=0,
        refused=0,
        released={},
        settings=settings,
        versions=_versions(),
        call=call,
    )


def python_call(params: Mapping[str, Any], method: Any, settings: Mapping[str, Any]) -> str:
    """Return Python that makes a classifier with the settings of a run.

    Objects are named after their parameter: ``learner=learner``.

    Parameters
    ----------
    params : mapping
        Constructor arguments of the classifier.
    method : Votes or Corrections
        In force: never "auto".
    settings : mapping
        What every "auto" stands for.
    """
    of_method = ", ".join(_arguments(method.get_params(deep=False), settings))
    given = {name: params[name] for name in _PARAMETERS} | {"method": "auto"}
    lines = [*_arguments(given, settings), f"method={type(method).__name__}({of_method})"]
    return "PATEClassifier(\n    " + ",\n    ".join(lines) + ",\n)"


def _arguments(params: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, str) and value == "auto":
            if name in _RESOLVED and name in settings:
                yield f"{name}={settings[name]!r}"
        elif value is None:
            if name in ("query", "representation"):  # their default is "auto"
                yield f"{name}=None"
        elif isinstance(value, str):
            yield f"{name}={str(value)!r}"
        else:
            yield f"{name}={value if isinstance(value, Real) else name}"


def _versions() -> dict[str, str]:
    return {"tacit": __version__, **{name: version(name) for name in _PACKAGES}}
