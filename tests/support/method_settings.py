"""Settings of a classifier written flat, for tables of cases that change one at a time."""

from __future__ import annotations

import inspect
from typing import Any

from tacit import Corrections, PATEClassifier, Votes

OF_VOTES = tuple(inspect.signature(Votes).parameters)


def with_method(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with those of ``Votes`` or ``Corrections`` in one ``method`` object.

    Without any of them teachers vote.
    """
    outer = {name: value for name, value in settings.items() if name not in (*OF_VOTES, "rounds")}
    votes = {name: value for name, value in settings.items() if name in OF_VOTES}
    if "rounds" in settings:
        assert not votes, "a fit has one method"
        return {**outer, "method": Corrections(settings["rounds"])}
    if "method" in settings:
        return outer
    return {**outer, "method": Votes(**votes)}


def before_release(clf: PATEClassifier) -> dict[str, Any]:
    """Return the settings in force without the "auto" student: released values choose it."""
    return {name: value for name, value in clf.resolved_params_.items() if name != "student"}
