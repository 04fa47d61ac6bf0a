"""Make the report of a run from what was released."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from typing import Any

from numpy.typing import NDArray

from tacit.report.run_report import RunReport
from tacit.report.statement import PrivacyStatement

_PACKAGES = ("numpy", "scipy", "scikit-learn", "opendp", "dp-accounting")


def run_report(
    statement: PrivacyStatement,
    released: Any,
    classes: NDArray[Any],
    settings: dict[str, Any],
    tacit_version: str,
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
        versions=_versions(tacit_version),
    )


def corrections_report(
    statement: PrivacyStatement, settings: dict[str, Any], tacit_version: str
) -> RunReport:
    """Return the report of a run in which teachers corrected a student; all of it public."""
    return RunReport(
        statement=statement,
        asked=0,
        answered=0,
        refused=0,
        released={},
        settings=settings,
        versions=_versions(tacit_version),
    )


def _versions(tacit_version: str) -> dict[str, str]:
    return {"tacit": tacit_version, **{name: version(name) for name in _PACKAGES}}
