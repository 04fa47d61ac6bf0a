"""One run on private records, from files to files: what ``tacit fit`` and ``tacit label`` share."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from tacit import __version__
from tacit.accounting.budget import Budget
from tacit.cli.exit_codes import told_in_one_line
from tacit.cli.parsing import left, promised, words
from tacit.cli.private_source import PrivateSource, private_source
from tacit.cli.run_options import Asked
from tacit.data.pool import PublicPool, n_rows
from tacit.data.tables import Pool, Reading, read_labelled
from tacit.data.tables.files import opened
from tacit.errors import BudgetExceeded, InvalidArgument
from tacit.estimators.combinations import check_combination
from tacit.estimators.correction_settings import resolve_corrections
from tacit.estimators.inputs import checked_points
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.protection import resolve_protection
from tacit.estimators.vote_settings import resolve_votes
from tacit.noise import SecureNoise
from tacit.project import Project, ProjectClassifier, RunFolder, learner_for
from tacit.project.folder import Account
from tacit.project.learners import BUILT_IN
from tacit.report import RunReport
from tacit.teachers.labels import ClassList

Results = Callable[[ProjectClassifier, RunReport, Account, bool], None]
"""Writes what a run found: classifier, report, the account afterwards, whether it was taken up."""


def run(kind: str, asked: Asked, write: Results) -> None:
    """Read, price, ask, train, release, and hand over what was found."""
    budget = Budget(asked.epsilon, asked.delta)
    if budget.delta == 0:
        raise InvalidArgument("--delta must be above 0 for a noisy vote, got 0.")
    project = Project(asked.project)
    reading = Reading(
        asked.format, asked.encoding, asked.delimiter, asked.columns, asked.quoted_newlines
    )
    account = project.account(asked.dataset)
    source = private_source(asked)
    pool = source.pool(asked, reading)
    clf = _classifier(asked, pool, project)
    if asked.dry_run:
        _price(asked, clf, source, pool, budget, account)
        return
    if asked.n is not None:
        raise InvalidArgument("--n goes with --dry-run: a run counts its records itself.")
    clf.input_assumptions = source.assumptions(reading)
    source.check()  # whether it is there is public, and is said before anybody is asked to spend
    known = None
    if asked.check is not None:
        known = read_labelled(asked.check, pool.schema, reading, label=source.label(asked))
    settings = _settings(kind, asked, source, pool)
    with told_in_one_line(), project.run(asked.dataset, settings, fresh=asked.fresh) as folder:
        try:
            paid = _confirm(asked, project, budget, account, folder)
            records = source.read(asked, pool, reading)
        except BaseException:
            if not folder.resumed:
                folder.discard()
            raise
        with _told_how_to_start_over(paid):
            _fit(clf.on(folder), records, pool)
        report = clf.report() if known is None else clf.report(*known)
        write(clf, report, project.account(asked.dataset), folder.resumed)
        folder.discard()


def _classifier(asked: Asked, pool: Pool, project: Project) -> ProjectClassifier:
    ClassList(list(asked.classes))  # refused now, if they are
    return ProjectClassifier(
        learner_for(asked.learner, dict(asked.param), pool.schema),
        epsilon=asked.epsilon,
        delta=asked.delta,
        classes=list(asked.classes),
        schema=pool.schema,
        method=_method(asked, n_rows(pool.points)),
        neighbouring=asked.neighbouring,
        n_teachers=asked.n_teachers,
        ledger=project.ledger(asked.dataset),
        n_jobs=asked.jobs,
        verbose=False if asked.quiet else None,
    )


def _method(asked: Asked, n_points: int) -> Votes | Corrections:
    """Return the method that the options describe."""
    votes = Votes(
        asked.mechanism,
        release=asked.release,
        n_questions=n_points if asked.n_questions == "all" else asked.n_questions,
        query=None if asked.query == "none" else asked.query,
        n_batches=asked.n_batches,
    )
    if asked.rounds is None and asked.learner != BUILT_IN:
        if asked.shard_size != "auto":
            raise InvalidArgument("--shard-size is about corrections: give --rounds, too.")
        return votes
    defaults = Votes().get_params()
    for name, value in votes.get_params().items():
        if value != defaults[name]:
            raise InvalidArgument(
                f"--{name.replace('_', '-')} is about votes: leave it out with --rounds and "
                "--learner built-in, whose teachers correct a student."
            )
    rounds = "auto" if asked.rounds is None else asked.rounds
    return Corrections(rounds, shard_size=asked.shard_size)


def _settings(kind: str, asked: Asked, source: PrivateSource, pool: Pool) -> dict[str, Any]:
    """Return what makes two runs the same run; all of it is public."""
    left_out = ("private", "project", "public", "jobs", "dry_run", "n", "fresh", "yes", "as_json",
                "quiet", "check", "counts", "schema")  # fmt: skip
    told = {name: value for name, value in vars(asked).items() if name not in left_out}
    with opened(asked.public) as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    what = {"kind": kind, "pool": digest, "schema": pool.schema.to_dict(), "v": __version__}
    return {**told, **what, **source.identity()}


# ---- what it costs -------------------------------------------------------------------------------


def _price(
    asked: Asked,
    clf: Any,
    source: PrivateSource,
    pool: Pool,
    budget: Budget,
    account: Account,
) -> None:
    voters = source.voters(asked)
    if asked.n is None and voters is None:
        raise InvalidArgument("--dry-run needs --n, the number of records (with --group: people).")
    names = None if asked.group is None else [b"%d" % one for one in range(asked.n or 0)]
    clf.schema_ = pool.schema
    points, n_classes = (
        PublicPool(checked_points(clf, pool.points, reset=True)),
        len(set(asked.classes)),
    )
    method, noise = clf.method, SecureNoise()
    check_combination(
        clf,
        method,
        "records" if voters is None else voters.source,
        has_pool=True,
        has_groups=names is not None,
    )
    protection, _ = resolve_protection(clf, asked.n, names, noise, voters)
    if isinstance(method, Corrections):
        correcting = resolve_corrections(clf, method, points, protection, budget, n_classes)
        plan, chosen = correcting.mechanism.plan(budget.delta), correcting.chosen
    else:
        voting = resolve_votes(clf, method, points, protection, budget, n_classes)
        plan = voting.mechanism.plan(budget.delta, n_teachers=voting.n_teachers)
        chosen = voting.chosen
    clf.ledger.check_plan(plan)
    cost = plan.guarantee
    if asked.as_json:
        import json

        price = {"epsilon": cost.epsilon, "delta": cost.delta}
        told = {"cost": price, "settings": chosen, "account": account.to_dict()}
        click.echo(json.dumps(told, default=str))
        return
    click.echo(_cost(asked, budget, account))
    click.echo("It would go as follows; private data were not opened.")
    for name, value in chosen.items():
        click.echo(f"  {name} = {value}")


def _cost(asked: Asked, budget: Budget, account: Account) -> str:
    rows = [
        ("lifetime budget", promised(account.budget)),
        ("reserved so far", promised(account.reserved)),
        ("left", left(account.remaining)),
        ("this run", promised(budget)),
    ]
    lines = [f"  {name:<16} {words(pair)}" for name, pair in rows]
    head = f"Data set {asked.dataset!r}: every run on this name adds up."
    return "\n".join([head, *lines])


def _confirm(
    asked: Asked, project: Project, budget: Budget, account: Account, folder: RunFolder
) -> bool:
    """Say what this will cost, and go on only when somebody agreed or it is paid for: say which."""
    ledger = project.ledger(asked.dataset)
    paid = ledger.find_plan(folder.key) is not None
    ledger.close()
    if paid:
        click.echo(
            f"Data set {asked.dataset!r}: goes on with an interrupted run, which is paid for "
            "already.",
            err=True,
        )
        return True
    _refuse_too_much(asked, budget, account)
    click.echo(_cost(asked, budget, account), err=True)
    if folder.resumed:
        click.echo("Goes on with an interrupted run, which has spent nothing yet.", err=True)
    if asked.yes:
        return False
    if not _somebody_is_here():
        raise InvalidArgument("This spends budget, and nobody is here to ask: add --yes.")
    click.confirm("Spend it?", abort=True, err=True)
    return False


def _somebody_is_here() -> bool:
    return sys.stdin.isatty()


def _refuse_too_much(asked: Asked, budget: Budget, account: Account) -> None:
    """Refuse before anything is read what basic composition would refuse afterwards."""
    most = account.remaining
    if most.rho is None and (budget.epsilon > most.epsilon or budget.delta > most.delta):
        raise BudgetExceeded(
            f"The data set {asked.dataset!r} has {words(left(most))} left, and this run may cost "
            f"{words(promised(budget))}. Nothing was opened or spent."
        )


# ---- the private part ----------------------------------------------------------------------------


def _fit(clf: ProjectClassifier, records: dict[str, Any], pool: Pool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X_public=PublicPool(pool.points), **records)
    # tacit's own warnings are about public things; others may be about anything.
    for text in dict.fromkeys(str(one.message) for one in caught if one.category is UserWarning):
        click.echo(f"Note: {text}", err=True)


@contextmanager
def _told_how_to_start_over(paid: bool) -> Iterator[None]:
    """Say what to do when an interrupted run cannot go on: sizes that decide its plan changed."""
    try:
        yield
    except InvalidArgument as error:
        if not paid:
            raise
        raise InvalidArgument(
            f"The interrupted run cannot go on: {error} It needs as many records as it had, or "
            "the same --n-teachers and --n-questions; --fresh starts another, at its own cost."
        ) from None
