"""What every mechanism must do: one battery for all of them.

``check_mechanism`` puts a mechanism through it and raises ``CheckFailed`` with everything that was
found. The inputs are the same for all: votes near ties and far from them. Most checks are certain;
the statistical ones fail a correct mechanism with probability at most ``FALSE_ALARM`` together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.audit.audits import audit_subject
from tacit.audit.checks import (
    costs,
    decisions,
    hygiene,
    laws,
    other_mechanisms,
    path,
    prices,
    shards,
)
from tacit.audit.checks.findings import Findings
from tacit.audit.estimates import in_parallel
from tacit.audit.evidence import FALSE_ALARM, FailedCheck, unlikely
from tacit.audit.reference_laws import is_known, noise_of
from tacit.audit.subjects import EXAMPLES, SelectionSubject, Subject, as_subject
from tacit.mechanisms import ClippedMean, Mechanism, StableRelease, VoteMechanism

__all__ = [
    "CHECKS",
    "STATISTICAL_SHARE",
    "CheckFailed",
    "FailedRun",
    "check_mechanism",
    "check_seeds",
    "examples",
    "findings_of",
    "problems",
]

Check = Callable[[Subject, Findings, int], None]

# Half of the false alarms allowed are for the laws; the audit takes a tenth of them.
STATISTICAL_SHARE = FALSE_ALARM / 2

CHECKS: dict[str, Check] = {
    "decisions": decisions.check_decisions,
    "ties": decisions.check_ties,
    "instances": decisions.check_instances,
    "abandoned": decisions.check_abandoned,
    "draws": decisions.check_draws,
    "law": laws.check_law,
    "secure": laws.check_law_with_secure_noise,
    "allowance": costs.check_allowance,
    "marks": costs.check_marks,
    "price": prices.check_price,
    "calibration": prices.check_calibration,
    "hygiene": hygiene.check_hygiene,
    "shards": shards.check_shards,
    "path": path.check_path,
    "audit": path.check_audit,
}
"""The checks of a voting mechanism, by name."""


def check_measured(subject: Subject, findings: Findings, seed: int, samples: int = 4000) -> None:
    """Whole runs on neighbouring votes cannot be distinguished beyond the price."""
    for one in audit_subject(
        "subject", subject, samples=samples, confidence=1 - FALSE_ALARM / 10, seed=seed, jobs=1,
        progress=False,
    ):  # fmt: skip
        findings.require(
            "audit",
            one.holds,
            f"{one.inputs}: measured epsilon is at least {one.result.epsilon_lower:.3f} where "
            f"{one.claimed:.3f} is claimed",
        )


WITHOUT_AN_ORACLE: dict[str, Check] = {
    "allowance": costs.check_allowance,
    "hygiene": hygiene.check_hygiene,
    "shards": shards.check_shards,
    "path": path.check_path,
    "audit": path.check_audit,
    "measured": check_measured,
}
"""The checks of a mechanism without a definition in ``tacit.audit.reference_laws``."""


class CheckFailed(AssertionError):
    """A mechanism does not do what it should; ``problems`` lists everything that was found."""

    def __init__(self, name: str, problems: Iterable[FailedCheck]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  - {problem}" for problem in self.problems)
        super().__init__(f"{name} failed {len(self.problems)} checks:\n{lines}")


def check_mechanism(
    subject: Subject | SelectionSubject | Mechanism | str,
    *,
    seed: int = 0,
    n_teachers: int | None = None,
    delta: float | None = None,
    secure: bool = True,
) -> None:
    """Put a mechanism through every check there is; raise with all that is wrong.

    Parameters
    ----------
    subject : Mechanism, Subject, SelectionSubject or the name of an example
        A mechanism with its public settings, a frozen data class. Small noise shows small
        mistakes. A mechanism planned for fewer than six answers is checked with six.
    seed : int
        Equal seeds give equal runs (but for the part that draws secure noise).
    n_teachers : int, optional
        How many toy teachers vote; enough for the noise when left out.
    delta : float, optional
        At which the run is priced.
    secure : bool, default True
        Whether the source of secure noise is checked too.

    Raises
    ------
    CheckFailed
        Naming each check and what it found.

    Notes
    -----
    A correct mechanism fails with probability at most ``FALSE_ALARM`` (1e-8): the sum over all
    statistical tests of one call, each an exact binomial test.

    Examples
    --------
    >>> check_mechanism("gaussian-label", seed=1, secure=False)
    """
    wrong = problems(subject, seed=seed, n_teachers=n_teachers, delta=delta, secure=secure)
    if wrong:
        raise CheckFailed(_name(subject), wrong)


def problems(
    subject: Subject | SelectionSubject | Mechanism | str,
    *,
    seed: int = 0,
    n_teachers: int | None = None,
    delta: float | None = None,
    secure: bool = True,
) -> list[FailedCheck]:
    """Return what ``check_mechanism`` would raise: everything found wrong."""
    findings = findings_of(as_subject(subject, n_teachers, delta), seed=seed, secure=secure)
    distinct = list(dict.fromkeys(findings.problems))
    for trial, p in unlikely(findings.trials, STATISTICAL_SHARE)[:20]:
        frequency = f"seen {trial.hits} times in {trial.n}, expected {trial.n * trial.chance:.1f}"
        distinct.append(FailedCheck("law", f"{trial.name}: {frequency} (p = {p:.1g})"))
    return distinct


def findings_of(subject: Subject | SelectionSubject, *, seed: int, secure: bool = True) -> Findings:
    """Return the raw findings of all checks: certain problems, and trials to be judged."""
    findings = Findings()
    for name, check in _battery(subject, secure):
        try:
            check(findings, seed)
        except Exception as error:  # a mechanism that breaks down has failed the check
            findings.problems.append(FailedCheck(name, f"{type(error).__name__}: {error}"))
    return findings


def examples() -> list[str]:
    """Return the names of all shipped mechanisms' examples."""
    return list(EXAMPLES)


def _battery(
    subject: Subject | SelectionSubject, secure: bool
) -> list[tuple[str, Callable[[Findings, int], None]]]:
    """Return the checks that apply, each as a function of findings and seed."""
    if isinstance(subject, SelectionSubject):
        return [("selection", lambda f, s: other_mechanisms.check_selection(subject, f, s, secure))]
    mechanism = subject.mechanism
    if isinstance(mechanism, ClippedMean):
        return [("mean", lambda f, s: other_mechanisms.check_clipped_mean(subject, f, s, secure))]
    if isinstance(mechanism, StableRelease):
        return [
            ("stable", lambda f, s: other_mechanisms.check_stable_release(subject, f, s, secure))
        ]
    assert isinstance(mechanism, VoteMechanism)
    named = set(noise_of(mechanism).values())
    chosen = CHECKS if is_known(mechanism) else WITHOUT_AN_ORACLE
    checks: list[tuple[str, Any]] = [
        (name, lambda f, s, check=check: check(subject, f, s))
        for name, check in chosen.items()
        if secure or name != "secure"
    ]
    if secure:
        checks.append(("noise", lambda f, s: laws.check_secure_noise(named, f)))
    return checks


def _name(subject: Any) -> str:
    return subject if isinstance(subject, str) else repr(subject)


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A seeded run of the checks that found something."""

    example: str
    seed: int
    problems: tuple[str, ...]


def check_seeds(
    seeds: Sequence[int],
    names: Sequence[str] = tuple(EXAMPLES),
    *,
    jobs: int = -1,
    progress: bool = True,
) -> list[FailedRun]:
    """Put every example through ``check_mechanism`` with every seed; return what failed."""

    def one(seed: int) -> list[FailedRun]:
        outcomes = ((name, problems(name, seed=seed)) for name in names)
        return [
            FailedRun(name, seed, tuple(map(str, messages)))
            for name, messages in outcomes
            if messages
        ]

    failed = in_parallel(one, seeds, jobs=jobs, progress=progress, label="seeded runs")
    return [run for some in failed for run in some]
