"""From a classifier's settings to what is in force: public facts alone decide."""

from __future__ import annotations

from typing import Any

from tacit.accounting.budget import Budget, Neighbouring
from tacit.data.pool import PublicPool
from tacit.estimators.correction_settings import CorrectionSettings, resolve_corrections
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.protection import ExistingTeachers, ShardAssignment, resolve_protection
from tacit.estimators.vote_settings import VoteSettings, resolve_votes
from tacit.noise import NoiseSource

FitSettings = VoteSettings | CorrectionSettings


def resolve(
    settings: Any,
    method: Votes | Corrections,
    neighbouring: Neighbouring,
    pool: PublicPool,
    budget: Budget,
    n_classes: int,
    *,
    n_records: int | None,
    people: list[bytes] | None,
    noise: NoiseSource,
    existing: ExistingTeachers | None = None,
    own_features: bool = False,
    input_assumptions: tuple[str, ...] = (),
) -> tuple[FitSettings, ShardAssignment]:
    """Return the settings in force, and how records are assigned to shards (private).

    Parameters
    ----------
    settings : estimator
        A classifier, or whatever has its parameters.
    neighbouring : Neighbouring
        What ``check_combination`` returned.
    pool : PublicPool
        Public points, converted by the schema.
    n_records, people, noise, existing
        See ``resolve_protection``.
    own_features : bool
        Whether the pool is made of the records' own features.
    input_assumptions : tuple of str
        What the guarantee also rests on for how records were read, in sentences.
    """
    protection, assignment = resolve_protection(neighbouring, n_records, people, noise, existing)
    assumptions = (own_features, input_assumptions)
    if isinstance(method, Corrections):
        return resolve_corrections(
            settings, method, pool, protection, budget, n_classes, *assumptions
        ), assignment
    return resolve_votes(
        settings, method, pool, protection, budget, n_classes, *assumptions
    ), assignment
