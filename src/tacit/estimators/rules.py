"""Rules that the classifier and the oracle share about what a caller may set."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tacit import validation
from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.mechanisms import SparseVote, StableVote
from tacit.mechanisms.base import VoteMechanism


def relation_of(protect: str, neighbouring: str, *, grouped: bool, n_teachers: Any) -> Neighbouring:
    """Return which data sets the guarantee is about, or refuse a pair that has no proof."""
    validation.one_of(("records", "labels"), protect=protect)
    relation = validation.choice(Neighbouring, neighbouring=neighbouring)
    if protect == "labels":
        if relation is Neighbouring.ADD_REMOVE:
            raise InvalidArgument(
                '`neighbouring` "add-remove" does not go with protect="labels", which protects '
                "labels of records that are known to be there."
            )
        return Neighbouring.LABELS
    if relation is Neighbouring.LABELS:
        raise InvalidArgument('`neighbouring` "labels" is chosen by protect="labels".')
    if relation is Neighbouring.ADD_REMOVE:
        if not grouped:
            raise InvalidArgument(
                '`groups` must be given with neighbouring="add-remove": each record\'s or '
                "person's own identifier decides its shard."
            )
        if isinstance(n_teachers, str):
            raise InvalidArgument(
                '`n_teachers` must be a number with neighbouring="add-remove", got '
                f"{n_teachers!r}: the number of records is private."
            )
    return relation


def number_of_teachers(n_teachers: Any, n_units: int | None, rule: Callable[[int], int]) -> int:
    """Return the number the caller set, or what the rule says of the number of records or people.

    ``n_units`` is None where that number is private.
    """
    if isinstance(n_teachers, str) and n_units is not None:
        auto_or_number(n_teachers=n_teachers)
        if n_units < 2:
            raise InvalidArgument(f"`X` must hold at least 2 records, got n_samples = {n_units}.")
        return rule(n_units)
    number = validation.positive_integer(n_teachers=n_teachers)
    if n_units is not None and number > n_units:
        raise InvalidArgument(f"`n_teachers` must be at most {n_units}, got {number}.")
    return number


def auto_or_number(**named: str) -> None:
    """Refuse a text that is not "auto"."""
    ((name, value),) = named.items()
    if value != "auto":
        raise InvalidArgument(f"`{name}` must be a number or 'auto', got {value!r}.")


def refuse_silent(mechanism: VoteMechanism, n_teachers: int) -> None:
    """Refuse a threshold that not even a unanimous vote reaches."""
    if not isinstance(mechanism, SparseVote | StableVote):
        return
    largest = math.ceil(n_teachers / 2) - 1
    if math.floor(mechanism.threshold) > largest:
        raise InvalidArgument(
            f"`mechanism` must have a threshold that votes can reach: {mechanism.name} has "
            f"{math.floor(mechanism.threshold)}, and a unanimous vote of {n_teachers} teachers "
            f"has a distance of {largest}, so it would answer nothing. Use more teachers, a "
            "larger epsilon, or plan fewer refusals (fewer questions, or a smaller cutoff)."
        )


READING = (
    "Of the containers that records came in, only the class, the column names and, where the "
    "number of records is public, the number of rows are taken as public; types are not. Decimals "
    "of more than 12 digits and whole numbers of more than 15 that pandas 2 read, and times parsed "
    "from texts that do not begin like 2020-03-04, must have been read by a rule that no record "
    "decides (tacit.read_table does)."
)
"""What no canonical form can repair, because it happened before the records came here."""


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
            f"One of the {many} comes or goes: somebody whose data change counts as two steps, one "
            "who goes and one who comes."
        )
    else:
        sentences.append(f"The number of {many} is public.")
        if unit == "record":
            sentences.append("A replaced record keeps its row: the order of rows is not protected.")
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
