"""``tacit audit``: measure the privacy of the shipped mechanisms on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


class _NamesMechanisms(click.Command):
    """A command whose help ends with the names it takes; they are loaded for that only."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the names of all mechanisms."""
        from tacit.audit.subjects import EXAMPLES

        with formatter.section("Mechanisms"):
            formatter.write_text(", ".join(EXAMPLES))


def _jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must not be 0: give a number of processes, or -1 for all cores.")
    return value


def _fraction(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise click.BadParameter(f"must lie between 0 and 1, got {value:g}.")
    return value


def _writable(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a file that cannot be written now, not after an hour of work."""
    if value is None:
        return None
    new = not value.exists()
    try:
        value.open("a").close()
        if new:
            value.unlink()
    except OSError as error:
        raise click.BadParameter(f"{str(value)!r} cannot be written: {error.strerror}.") from error
    return value


@click.command(cls=_NamesMechanisms)
@click.argument("mechanisms", nargs=-1, metavar="[MECHANISM]...")
@click.option("--samples", default=10_000, show_default=True, type=click.IntRange(100),
              help="Number of runs on each of two neighbouring inputs.")  # fmt: skip
@click.option("--delta", type=float, callback=_fraction,
              help="Delta to price and to measure at [default: each example's own].")  # fmt: skip
@click.option("--confidence", default=0.9999, show_default=True, type=float, callback=_fraction,
              help="Probability that a measured bound holds.")  # fmt: skip
@click.option("--jobs", default=-1, show_default=True, type=int, callback=_jobs,
              help="Processes; -1 uses all cores.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0),
              help="Seed of test noise in place of secure noise, to repeat a run.")  # fmt: skip
@click.option("--runs", default=0, show_default=True, type=click.IntRange(0),
              help="Also run all checks of each mechanism with this many seeds.")  # fmt: skip
@click.option("--log", type=click.Path(dir_okay=False, path_type=Path), callback=_writable,
              help="JSON file for all measurements.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON in place of the table.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
def audit(
    mechanisms: tuple[str, ...],
    samples: int,
    delta: float | None,
    confidence: float,
    jobs: int,
    seed: int | None,
    runs: int,
    log: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure the privacy of the mechanisms and compare it with their price.

    Every mechanism runs many times on two inputs that differ in one vote, near a tie and far from
    it. The outputs force a lower bound on epsilon. It must stay below the price; how far below is
    no finding: an audit can show that a mechanism leaks, never that it does not.

    Without arguments all mechanisms are audited. Exit status 1 means that a bound is above its
    price, or that a seeded run failed.

    \b
    Examples:
      tacit audit                               all mechanisms, a few minutes
      tacit audit sparse gaussian-label --samples 100000
      tacit audit --runs 1000 --log audit.json  and a thousand seeded runs of every check
    """
    from tacit.audit.audits import audit_subject
    from tacit.audit.contracts import check_seeds
    from tacit.audit.subjects import EXAMPLES, as_subject

    names = list(mechanisms) or list(EXAMPLES)
    _refuse_unknown(names, list(EXAMPLES))
    subjects = [(name, as_subject(name, delta=delta)) for name in names]
    if delta is not None:
        _refuse_unpriced(subjects)
    show = not quiet and not as_json
    if show:
        click.echo(_HEADER)
    measured = []
    for name, subject in subjects:
        for measurement in audit_subject(
            name, subject, samples=samples, confidence=confidence, seed=seed, jobs=jobs,
            progress=show,
        ):  # fmt: skip
            measured.append(measurement)
            if show:
                click.echo(_line(measurement))
    failed = check_seeds(range(runs), names, jobs=jobs, progress=show) if runs else []
    report = _report(measured, failed, runs, seed)
    click.echo(json.dumps(report, indent=1) if as_json else _verdict(report))
    if log is not None:
        _write(log, report)
    if not report["passed"]:
        raise SystemExit(1)


def _refuse_unknown(names: list[str], available: list[str]) -> None:
    for name in names:
        if name not in available:
            raise click.BadParameter(
                f"{name!r} is none of {', '.join(available)}.", param_hint="MECHANISM"
            )


def _refuse_unpriced(subjects: list[tuple[str, Any]]) -> None:
    """Price every mechanism at the caller's delta, which some cannot meet, before any work."""
    from tacit.errors import TacitError

    for name, subject in subjects:
        try:
            if hasattr(subject, "mechanism"):
                subject.mechanism.epsilon(subject.delta)
        except TacitError as error:
            raise click.BadParameter(f"{name}: {error}", param_hint="--delta") from error


def _write(log: Path, report: dict[str, Any]) -> None:
    try:
        log.write_text(json.dumps(report, indent=1) + "\n")
    except OSError as error:
        raise click.ClickException(f"{str(log)!r} was not written: {error.strerror}.") from error


_HEADER = f"{'mechanism':22} {'inputs':14} {'delta':>8} {'claimed':>8} {'measured':>9}  verdict"


def _line(measurement: Any) -> str:
    verdict = "below its price" if measurement.holds else "ABOVE ITS PRICE"
    return (
        f"{measurement.example:22} {measurement.inputs:14} {measurement.result.delta:8.2g} "
        f"{measurement.claimed:8.3f} {measurement.result.epsilon_lower:9.3f}  {verdict}"
    )


def _report(measured: list[Any], failed: list[Any], runs: int, seed: int | None) -> dict[str, Any]:
    from tacit import __version__
    from tacit.audit.evidence import FALSE_ALARM

    rows = [
        {
            "mechanism": measurement.example,
            "inputs": measurement.inputs,
            "claimed_epsilon": measurement.claimed,
            "measured_epsilon": measurement.result.epsilon_lower,
            "delta": measurement.result.delta,
            "confidence": measurement.result.confidence,
            "samples": measurement.result.samples,
            "holds": measurement.holds,
        }
        for measurement in measured
    ]
    return {
        "version": __version__,
        "noise": "secure" if seed is None else f"seeded {seed}",
        "audits": rows,
        "seeded_runs": runs,
        "seeds": [0, runs - 1] if runs else [],
        "false_alarm_per_check": FALSE_ALARM,
        "failed_runs": [
            {"mechanism": run.example, "seed": run.seed, "problems": list(run.problems)}
            for run in failed
        ],
        "passed": all(row["holds"] for row in rows) and not failed,
    }


def _verdict(report: dict[str, Any]) -> str:
    above = sum(not row["holds"] for row in report["audits"])
    lines = [f"{len(report['audits'])} audits, {above} above their price."]
    if report["seeded_runs"]:
        failed = len(report["failed_runs"])
        lines.append(f"{report['seeded_runs']} seeded runs of every mechanism, {failed} failures.")
    lines += [
        f"  {run['mechanism']}, seed {run['seed']}: {run['problems'][0]}"
        for run in report["failed_runs"]
    ]
    return "\n".join(lines)
