"""``tacit plan``: what to run, and what to expect, before anything is spent."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tacit.accounting.budget import Budget

if TYPE_CHECKING:
    from tacit.planning.candidates import Candidate
    from tacit.planning.frontier import Frontier
    from tacit.planning.planner import RunPlan
    from tacit.planning.vote_curve import VoteCurve

ASSUMED = {20: 0.7, 50: 0.8, 200: 0.9}
"""Accuracy of a teacher by shard size, when the caller gives none."""


@dataclass(frozen=True)
class PlanOptions:
    """What the command line asks for. Public."""

    records: int
    points: int
    epsilon: float
    delta: float | None
    classes: int
    n_questions: int | None
    release: str
    accuracy: dict[int, float]
    correlation: float
    labelled: Path | None
    label_column: str | None
    pool: Path | None
    with_frontier: bool
    plot: Path | None
    as_json: bool
    seed: int

    @property
    def budget(self) -> Budget:
        delta = min(1e-5, 1 / max(self.records, 1)) if self.delta is None else self.delta
        return Budget(self.epsilon, delta)


def _guesses(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[int, float]:
    guesses: dict[int, float] = {}
    for text in value:
        size, colon, accuracy = text.partition(":")
        try:
            if not colon:
                raise ValueError
            records, right = int(size), float(accuracy)
        except ValueError:
            raise click.BadParameter(
                f"must look like RECORDS:ACCURACY, for example 50:0.8, got {text!r}."
            ) from None
        if records in guesses:
            raise click.BadParameter(f"must name every size once, got {records} twice.")
        guesses[records] = right
    return guesses


@click.command()
@click.option("--records", required=True, type=click.IntRange(0),
              help="Private records (people, when they are grouped).")  # fmt: skip
@click.option("--points", required=True, type=click.IntRange(0), help="Public points to ask about.")
@click.option("--epsilon", default=1.0, show_default=True, type=float)
@click.option("--delta", type=float, help="[default: one over the records, at most 1e-5]")
@click.option("--classes", default=2, show_default=True, type=click.IntRange(2),
              help="Number of classes; with --labelled it is counted.")  # fmt: skip
@click.option("--n-questions", type=click.IntRange(1),
              help="Number of questions [default: that of the classifier].")  # fmt: skip
@click.option("--release", default="share", show_default=True,
              type=click.Choice(["share", "label"]),
              help="Shares for the default student, labels for any other.")  # fmt: skip
@click.option("--accuracy", multiple=True, callback=_guesses, metavar="RECORDS:ACCURACY",
              help="Guess: the accuracy of a teacher trained on so many records. "
                   "Can be repeated for several sizes.")  # fmt: skip
@click.option("--correlation", default=0.3, show_default=True, type=float,
              help="Assumed correlation of two teachers, for a guess.")  # fmt: skip
@click.option("--labelled", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="CSV of labelled PUBLIC points: numbers, and a column of labels.")  # fmt: skip
@click.option("--label", "label_column", help="Column of labels in --labelled [default: the last].")
@click.option("--pool", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="CSV of the public points themselves, without labels.")  # fmt: skip
@click.option("--frontier", "with_frontier", is_flag=True,
              help="Also predict accuracy against epsilon for every mechanism.")  # fmt: skip
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path),
              help="Draw the frontier to this file; needs matplotlib.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0),
              help="Seed of the split of labelled points.")  # fmt: skip
def plan(**options: Any) -> None:
    """Recommend a run and forecast it, before anything is spent.

    Takes public numbers and public evidence only: how often teachers will be right is guessed
    (--accuracy) or measured on labelled public points (--labelled). Never give it private records.

    Exit status 1 means that no plan works; the page names what is missing.

    \b
    Examples:
      tacit plan --records 20000 --points 400
      tacit plan --records 20000 --points 400 --accuracy 50:0.8 --accuracy 200:0.88 --frontier
      tacit plan --records 20000 --points 400 --labelled public.csv --plot frontier.png
    """
    from tacit.planning.planner import plan_run

    settings = PlanOptions(**options)
    if settings.labelled is not None and settings.accuracy:
        raise click.UsageError("Give --labelled or --accuracy, not both.")
    if settings.pool is not None and settings.labelled is None:
        raise click.UsageError("--pool goes with --labelled: it shapes what teachers see.")
    budget = settings.budget
    if settings.plot is not None:
        _check_plot(settings.plot)
    labels: list[Any] | None = None
    baseline = None
    if settings.labelled is not None:
        curve, labels, baseline = _measured(settings.labelled, settings)
    else:
        curve = _guessed(settings)
    sizes: dict[str, Any] = {
        "n_records": settings.records,
        "n_points": settings.points,
        "curve": curve,
        "n_questions": settings.n_questions,
        "baseline": baseline,
    }
    run_plan = plan_run(budget=budget, release=settings.release, **sizes)
    drawn = None
    if (settings.with_frontier or settings.plot is not None) and run_plan.best is not None:
        drawn = _frontier(budget.delta, sizes, settings.plot)
    if settings.as_json:
        fields = run_plan.to_dict() | {"run_next": run_plan.call(labels)}
        if drawn is not None:
            fields["frontier"] = drawn.to_dict()
        click.echo(json.dumps(fields, indent=1))
    else:
        click.echo(_page(run_plan, labels, drawn))
    if not run_plan.works:
        raise SystemExit(1)


def _guessed(settings: PlanOptions) -> VoteCurve:
    from tacit.planning.vote_curve import VoteCurve

    curve = VoteCurve.guessed(
        settings.accuracy or ASSUMED,
        correlation=settings.correlation,
        n_classes=settings.classes,
    )
    if settings.accuracy:
        return curve
    source = curve.source.replace("a guess", "no evidence was given, so this is assumed")
    return VoteCurve(curve.sizes, curve.models, source)


def _measured(labelled: Path, settings: PlanOptions) -> tuple[VoteCurve, list[Any], float]:
    """Measure teachers; return also the classes, and the share of the most common one."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from tacit.cli.tables import read_labelled, read_points
    from tacit.data.representations.coordinates import PoolRepresentation
    from tacit.errors import InvalidArgument
    from tacit.planning.vote_curve import measure_votes

    X, y = read_labelled(labelled, settings.label_column)
    rest = None if settings.pool is None else read_points(settings.pool)
    if rest is not None and rest.shape[1] != X.shape[1]:
        raise InvalidArgument(
            f"`pool` must have the {X.shape[1]} columns of the labelled points, got "
            f"{rest.shape[1]}."
        )
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise InvalidArgument("`labelled` must hold at least two classes, got one.")
    curve = measure_votes(
        LogisticRegression(),
        X,
        y,
        classes=classes.tolist(),
        rng=np.random.default_rng(settings.seed),
        pool=rest,
        representation=PoolRepresentation(),  # what the classifier fits for a linear learner
    )
    return curve, classes.tolist(), float(counts.max() / counts.sum())


def _check_plot(path: Path) -> None:
    from tacit.planning.plots import check_path

    check_path(path)


def _frontier(delta: float, sizes: dict[str, Any], plot: Path | None) -> Frontier:
    from tacit.planning.frontier import frontier
    from tacit.planning.plots import plot_frontier

    curves = frontier(delta=delta, **sizes)
    if plot is not None:
        plot_frontier(curves, plot)
    return curves


# ---- the page -----------------------------------------------------------------------------------


def _page(run_plan: RunPlan, labels: list[Any] | None, drawn: Frontier | None) -> str:
    budget = run_plan.budget
    parts = [
        f"Plan for {run_plan.n_records:,} private records, {run_plan.n_points:,} public points, "
        f"{run_plan.n_classes} classes, epsilon {budget.epsilon:g}, delta {budget.delta:.3g}.\n"
        + _wrapped(f"No private data were used. Evidence: {run_plan.curve.source}.")
    ]
    if run_plan.n_records and budget.delta > 1 / run_plan.n_records:
        parts.append(
            _wrapped(
                f"Note: delta is above 1/n = {1 / run_plan.n_records:.3g}. A guarantee this weak "
                "allows releasing whole records; choose a smaller one."
            )
        )
    if not run_plan.works:
        missing = "\n".join(_wrapped(line, "  - ") for line in run_plan.missing)
        parts.append(f"This will not work as it stands. What is missing:\n{missing}")
    if run_plan.best is not None:
        parts.append(_recommended(run_plan, run_plan.best))
    if run_plan.others:
        parts.append(_others(run_plan))
    if drawn is not None:
        parts.append(_table(drawn))
    if run_plan.works:
        call = "\n".join(f"  {line}".rstrip() for line in run_plan.call(labels).splitlines())
        parts.append(f"Run next\n\n{call}")
    return "\n\n".join(parts)


def _wrapped(text: str, first: str = "") -> str:
    return textwrap.fill(text, 96, initial_indent=first, subsequent_indent=" " * len(first))


def _recommended(run_plan: RunPlan, best: Candidate) -> str:
    cost = best.plan(run_plan.budget.delta)
    forecast = best.forecast
    head = "Recommended" if run_plan.works else "The best of what there is"
    refused = forecast.refused + forecast.unreached
    lines = [
        f"{best.n_teachers:,} teachers of {best.shard_size:,} records each, asked about "
        f"{best.n_questions:,} points",
        f"{best.name} vote, {best.mechanism.describe_noise()}, releasing {run_plan.release.value}s",
        f"guarantee: epsilon {cost.guarantee.epsilon:.4g}, delta {cost.guarantee.delta:.3g} "
        f"({cost.accountant} accountant)",
        f"expected: {forecast.correct:.1%} of the released labels right, {refused:.1%} of the "
        "questions without an answer",
        f"guessing one class is right {run_plan.baseline:.1%} of the time",
    ]
    if run_plan.release.value == "share":
        lines.insert(
            4, f"a student that averages the shares sees about {best.value:.1%} of them right"
        )
    return head + "\n\n" + "\n".join(f"  {line}" for line in lines)


def _others(run_plan: RunPlan) -> str:
    header = f"  {'mechanism':12}{'teachers':>9}{'right':>8}{'refused':>9}{'overall':>9}"
    rows = [
        f"  {c.name:12}{c.n_teachers:9,}{c.forecast.correct:8.1%}"
        f"{c.forecast.refused + c.forecast.unreached:9.1%}{c.value:9.1%}"
        for c in ([run_plan.best] if run_plan.best else []) + list(run_plan.others)
    ]
    note = (
        "  right: of the released labels; overall: with guesses for what was refused"
        + (", after averaging" if run_plan.release.value == "share" else "")
        + "."
    )
    return "Compared\n\n" + "\n".join([header, *rows, note])


def _table(drawn: Frontier) -> str:
    header = "  epsilon" + "".join(f"{name:>17}" for name in drawn.lines)
    rows = [
        f"  {epsilon:7g}" + "".join(f"{drawn.values(name)[i]:17.1%}" for name in drawn.lines)
        for i, epsilon in enumerate(drawn.epsilons)
    ]
    remarks = [_wrapped(line, "  ") for line in drawn.remarks()]
    return "Accuracy against epsilon\n\n" + "\n".join([header, *rows, *remarks])
