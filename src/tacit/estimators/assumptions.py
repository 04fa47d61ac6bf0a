"""What a privacy statement relies on besides the proofs, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.accounting.budget import Neighbouring
from tacit.data.assumptions import KEEPS_ROW, READING
from tacit.estimators.protection import Protection


def list_assumptions(
    neighbouring: Neighbouring,
    unit: str,
    *,
    points: Sequence[str],
    account: Sequence[str],
) -> tuple[str, ...]:
    """Return what a guarantee relies on besides the proofs, in sentences.

    ``points`` are those about public points where records are protected, ``account`` those
    about what else is spent.
    """
    sentences = list(points)
    if neighbouring is Neighbouring.LABELS:
        sentences[0] = (
            "Features are public: only labels are protected, and everything may depend on features."
        )
    many = "people" if unit == "person" else "records"
    if neighbouring is Neighbouring.ADD_REMOVE:
        sentences.append(
            f"One of the {many} comes or goes: changed data of one person count as two steps, one "
            "who goes and one who comes."
        )
    else:
        sentences.append(f"The number of {many} is public.")
        if unit == "record":
            sentences.append(KEEPS_ROW)
    sentences.append(READING)
    if unit == "record":
        sentences.append(
            "No person has more than one record; k records of one person cost k times epsilon, "
            "and a delta that grows faster still."
        )
    else:
        sentences.append("The groups given hold all records of a person together.")
        if neighbouring is not Neighbouring.ADD_REMOVE:
            sentences.append(
                "People are numbered by where their records first appear, and a replaced person "
                "keeps that place: the order of the table must not depend on private values."
            )
    sentences.append("Nothing was fitted on all private records together before they came here.")
    sentences.append("Settings were chosen without looking at private data.")
    return (*sentences, *account)


def fit_assumptions(
    ledger: Any,
    protection: Protection,
    representation: Any,
    own_features: bool,
    input_assumptions: tuple[str, ...],
) -> tuple[str, ...]:
    """Return what the guarantee of a fit relies on besides the proofs, in sentences."""
    points = [
        "The pool is public and was put together without looking at private records; which of "
        "its points were asked about depends on public points and released answers alone."
    ]
    if own_features:
        points.append(
            "The points asked about are features of the records themselves: those records' own "
            "labels were not used."
        )
    if representation is not None:
        points.append("The representation was fitted on the public points alone.")
    existing = protection.existing
    sentences = list_assumptions(
        protection.neighbouring,
        protection.unit,
        points=points,
        account=[_fit_account(ledger)],
    )
    sentences = (*sentences, *input_assumptions)
    return sentences if existing is None else (*sentences, existing.assumption)


def _fit_account(ledger: Any) -> str:
    if ledger is None:
        return "This is the cost of this fit alone: every other release from the data adds to it."
    return "This is the cost of this fit alone: the ledger given has what all its fits add up to."


def oracle_assumptions(protection: Protection, *, own_ledger: bool) -> tuple[str, ...]:
    """Return what the guarantee rests on besides the proofs, in sentences."""
    account = "The ledger given has what all releases from the data add up to."
    if own_ledger:
        account = "This is the cost of this oracle alone: other releases from the data add to it."
    return list_assumptions(
        protection.neighbouring,
        protection.unit,
        points=["The points asked about are public and chosen without looking at private records."],
        account=[
            "Everybody who asks is taken together: the guarantee is against all of them.",
            account,
        ],
    )


def restore_assumptions(lost: int) -> tuple[str, ...]:
    """Return what a statement adds after restores with lost spend, in sentences."""
    if not lost:
        return ()
    return (
        f"The ledger was restored {lost} time{'s' if lost > 1 else ''} without all that had been "
        "spent: the budget counts once for every account that was lost, and once for this one.",
    )
