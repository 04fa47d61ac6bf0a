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
from tacit.accounting.budget import Budget, Neighbouring
from tacit.cli.exit_codes import one_line_errors
from tacit.cli.formatting import as_text, round_down, round_up
from tacit.cli.private_source import PrivateSource, private_source
from tacit.cli.run_options import RunOptions
from tacit.data.pool import PublicPool, n_rows
from tacit.data.tables import Pool, ReadOptions, read_labelled
from tacit.data.tables.files import opened
from tacit.errors import BudgetExceeded, InvalidArgument, LearnerBottleneckWarning
from tacit.estimators.combinations import check_combination, resolve_method
from tacit.estimators.methods import Corrections, Votes
from tacit.estimators.protection import InputKind
from tacit.estimators.resolve import resolve
from tacit.estimators.schema_checks import checked_points
from tacit.noise import SecureNoise
from tacit.project import Project, ProjectClassifier, RunFolder, learner_for
from tacit.project.folder import DatasetAccount
from tacit.report import RunReport
from tacit.teachers.labels import ClassList

Results = Callable[[ProjectClassifier, RunReport, DatasetAccount, bool], None]
"""Writes the results of a run: classifier, report, the account afterwards, whether the run was
resumed."""


def run(kind: str, options: RunOptions, write: Results, *, labels: bool = False) -> None:
    """Read, price, train, release, and write the results. ``labels``: the results need labels."""
    budget = Budget(options.epsilon, options.delta)
    if budget.delta == 0:
        raise InvalidArgument("--delta must be above 0 for a noisy vote, got 0.")
    project = Project(options.project)
    reading = ReadOptions(
        options.format,
        options.encoding,
        options.delimiter,
        options.columns,
        options.quoted_newlines,
    )
    account = project.account(options.dataset)
    source = private_source(options)
    pool = source.pool(options, reading)
    clf = _classifier(options, pool, project)
    method, neighbouring = _method(options, clf, source, n_rows(pool.points))
    if labels and isinstance(method, Corrections):
        raise InvalidArgument("--labels: corrections release no labels. Give --method votes.")
    if options.dry_run:
        _price(options, clf, method, neighbouring, source, pool, budget, account)
        return
    if options.n is not None:
        raise InvalidArgument("--n goes with --dry-run: a run counts its records itself.")
    source.check()  # whether the file exists is public; checked before the cost is confirmed
    labelled = None
    if options.check is not None:
        labelled = read_labelled(options.check, pool.schema, reading, label=source.label(options))
    settings = _settings(kind, options, source, pool)
    with one_line_errors(), project.run(options.dataset, settings, fresh=options.fresh) as folder:
        try:
            paid = _confirm(options, project, budget, account, folder)
            records = source.read(options, pool, reading)
        except BaseException:
            if not folder.resumed:
                folder.discard()
            raise
        with _explain_changed_sizes(paid):
            clf.on(folder, method=method, assumptions=source.assumptions(reading))
            _fit(clf, records, pool)
        report = clf.report() if labelled is None else clf.report(*labelled)
        write(clf, report, project.account(options.dataset), folder.resumed)
        folder.discard()


def _classifier(options: RunOptions, pool: Pool, project: Project) -> ProjectClassifier:
    ClassList(list(options.classes))  # refused now, if they are
    return ProjectClassifier(
        learner_for(options.learner, dict(options.param), pool.schema),
        epsilon=options.epsilon,
        delta=options.delta,
        classes=list(options.classes),
        schema=pool.schema,
        method="auto" if options.method == "auto" else _METHODS[options.method](),
        neighbouring=options.neighbouring,
        n_teachers=options.n_teachers,
        ledger=project.ledger(options.dataset),
        n_jobs=options.jobs,
        verbose=False if options.quiet else None,
    )


_METHODS: dict[str, type[Votes | Corrections]] = {"votes": Votes, "corrections": Corrections}


def _method(
    options: RunOptions, clf: ProjectClassifier, source: PrivateSource, n_points: int
) -> tuple[Votes | Corrections, Neighbouring]:
    """Return the method with its settings, and the relation; what does not fit is refused."""
    voters = source.voters(options)
    kind: InputKind = "records" if voters is None else voters.source
    method = resolve_method(clf, kind)
    neighbouring = check_combination(
        clf, method, kind, has_pool=True, has_groups=options.group is not None
    )
    votes = Votes(
        options.mechanism,
        release=options.release,
        n_questions=n_points if options.n_questions == "all" else options.n_questions,
        query=None if options.query == "none" else options.query,
        n_batches=options.n_batches,
    )
    corrections = Corrections(options.rounds, shard_size=options.shard_size)
    if isinstance(method, Corrections):
        _refuse_settings(votes, "votes", "corrections")
        return corrections, neighbouring
    _refuse_settings(corrections, "corrections", "votes")
    return votes, neighbouring


def _refuse_settings(other: Votes | Corrections, name: str, method: str) -> None:
    """Refuse settings of a method that is not in force."""
    defaults = type(other)().get_params()
    for setting, value in other.get_params().items():
        if value != defaults[setting]:
            raise InvalidArgument(
                f"--{setting.replace('_', '-')} is a setting of {name}, and this run uses "
                f"{method}: leave it out, or give --method {name}."
            )


def _settings(kind: str, options: RunOptions, source: PrivateSource, pool: Pool) -> dict[str, Any]:
    """Return what makes two runs the same run; all of it is public."""
    left_out = ("private", "project", "public", "jobs", "dry_run", "n", "fresh", "yes", "as_json",
                "quiet", "check", "counts", "schema")  # fmt: skip
    recorded = {name: value for name, value in vars(options).items() if name not in left_out}
    with opened(options.public) as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    identity = {"kind": kind, "pool": digest, "schema": pool.schema.to_dict(), "v": __version__}
    return {**recorded, **identity, **source.identity()}


# ---- what it costs -------------------------------------------------------------------------------


def _price(
    options: RunOptions,
    clf: Any,
    method: Votes | Corrections,
    neighbouring: Neighbouring,
    source: PrivateSource,
    pool: Pool,
    budget: Budget,
    account: DatasetAccount,
) -> None:
    voters = source.voters(options)
    if options.n is None and voters is None:
        raise InvalidArgument("--dry-run needs --n, the number of records (with --group: people).")
    clf.schema_ = pool.schema
    settings, _ = resolve(
        clf,
        method,
        neighbouring,
        PublicPool(checked_points(clf, pool.points, reset=True)),
        budget,
        len(set(options.classes)),
        n_records=options.n,
        people=None if options.group is None else [b"%d" % one for one in range(options.n or 0)],
        noise=SecureNoise(),
        existing=voters,
    )
    plan, chosen = settings.plan(budget), settings.chosen
    clf.ledger.check_plan(plan)
    cost = plan.guarantee
    if options.as_json:
        import json

        price = {"epsilon": cost.epsilon, "delta": cost.delta}
        fields = {"cost": price, "settings": chosen, "account": account.to_dict()}
        click.echo(json.dumps(fields, default=str))
        return
    click.echo(_cost(options, budget, account))
    click.echo("It would go as follows; private data were not opened.")
    for name, value in chosen.items():
        click.echo(f"  {name} = {value}")


def _cost(options: RunOptions, budget: Budget, account: DatasetAccount) -> str:
    rows = [
        ("lifetime budget", round_up(account.budget)),
        ("reserved so far", round_up(account.reserved)),
        ("left", round_down(account.remaining)),
        ("this run", round_up(budget)),
    ]
    lines = [f"  {name:<16} {as_text(pair)}" for name, pair in rows]
    head = f"Data set {options.dataset!r}: every run on this name adds up."
    return "\n".join([head, *lines])


def _confirm(
    options: RunOptions,
    project: Project,
    budget: Budget,
    account: DatasetAccount,
    folder: RunFolder,
) -> bool:
    """Show the cost and ask for consent. Return whether the run is already paid for."""
    ledger = project.ledger(options.dataset)
    paid = ledger.find_plan(folder.key) is not None
    ledger.close()
    if paid:
        click.echo(
            f"Data set {options.dataset!r}: resuming an interrupted run, which is paid for "
            "already.",
            err=True,
        )
        return True
    _refuse_too_much(options, budget, account)
    click.echo(_cost(options, budget, account), err=True)
    if folder.resumed:
        click.echo("Resuming an interrupted run, which has spent nothing yet.", err=True)
    if options.yes:
        return False
    if not _is_interactive():
        raise InvalidArgument(
            "This spends budget, and there is no terminal to confirm it: add --yes."
        )
    click.confirm("Spend it?", abort=True, err=True)
    return False


def _is_interactive() -> bool:
    return sys.stdin.isatty()


def _refuse_too_much(options: RunOptions, budget: Budget, account: DatasetAccount) -> None:
    """Refuse before anything is read what basic composition would refuse afterwards."""
    most = account.remaining
    if most.rho is None and (budget.epsilon > most.epsilon or budget.delta > most.delta):
        raise BudgetExceeded(
            f"The data set {options.dataset!r} has {as_text(round_down(most))} left, and this run "
            f"may cost {as_text(round_up(budget))}. Nothing was opened or spent."
        )


# ---- the private part ----------------------------------------------------------------------------


def _fit(clf: ProjectClassifier, records: dict[str, Any], pool: Pool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X_public=PublicPool(pool.points), **records)
    # tacit's own warnings are about public things; others may be about anything.
    ours = (UserWarning, LearnerBottleneckWarning)
    for text in dict.fromkeys(str(one.message) for one in caught if one.category in ours):
        click.echo(f"Note: {text}", err=True)


@contextmanager
def _explain_changed_sizes(paid: bool) -> Iterator[None]:
    """Say what to do when a run cannot be resumed: sizes that decide its plan changed."""
    try:
        yield
    except InvalidArgument as error:
        if not paid:
            raise
        raise InvalidArgument(
            f"The interrupted run cannot be resumed: {error} It needs as many records as it had, "
            "or the same --n-teachers and --n-questions; --fresh starts another, at its own cost."
        ) from None
