"""The terms of an oracle as plain values, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tacit.accounting.budget import Budget, Neighbouring
from tacit.errors import PersistenceError
from tacit.estimators.oracle.terms import ErrorEstimate, OracleTerms
from tacit.mechanisms.base import VoteMechanism
from tacit.mechanisms.instability import StableVote
from tacit.mechanisms.registry import MECHANISMS

_SAVED: list[type[VoteMechanism]] = [*MECHANISMS.values(), StableVote]
_MECHANISMS = {mechanism.__name__: mechanism for mechanism in _SAVED}


def to_dict(terms: OracleTerms) -> dict[str, Any]:
    """Return the terms as plain values."""
    return {
        "budget": _budget(terms.budget),
        "mechanism": _mechanism(terms.mechanism),
        "delta": terms.delta,
        "key": terms.key,
        "neighbouring": terms.neighbouring.value,
        "unit": terms.unit,
        "assumptions": list(terms.assumptions),
        "settings": dict(terms.settings),
        "estimate": None
        if terms.estimate is None
        else {
            "error": terms.estimate.error,
            "deviation": terms.estimate.deviation,
            "guarantee": _budget(terms.estimate.guarantee),
        },
    }


def from_dict(saved: Mapping[str, Any]) -> tuple[OracleTerms, VoteMechanism]:
    """Return the terms that ``to_dict`` was given, and the mechanism in them."""
    estimate, vote = saved["estimate"], _mechanism_from_dict(saved["mechanism"])
    terms = OracleTerms(
        budget=Budget(**saved["budget"]),
        mechanism=vote,
        delta=float(saved["delta"]),
        key=str(saved["key"]),
        neighbouring=Neighbouring(saved["neighbouring"]),
        unit=str(saved["unit"]),
        assumptions=tuple(str(sentence) for sentence in saved["assumptions"]),
        settings=dict(saved["settings"]),
        estimate=None
        if estimate is None
        else ErrorEstimate(
            float(estimate["error"]), float(estimate["deviation"]), Budget(**estimate["guarantee"])
        ),
    )
    return terms, vote


def _budget(budget: Budget) -> dict[str, float]:
    return {"epsilon": budget.epsilon, "delta": budget.delta}


def _mechanism(mechanism: VoteMechanism | None) -> dict[str, Any]:
    kind = type(mechanism)
    if mechanism is None or _MECHANISMS.get(kind.__name__) is not kind:
        raise PersistenceError(
            f"A mechanism of type {kind.__name__} cannot be saved: only tacit's own can."
        )
    settings = {one.name: getattr(mechanism, one.name) for one in fields(mechanism)}  # type: ignore[arg-type]
    return {"name": kind.__name__, "settings": settings}


def _mechanism_from_dict(saved: Mapping[str, Any]) -> VoteMechanism:
    return _MECHANISMS[saved["name"]](**saved["settings"])
