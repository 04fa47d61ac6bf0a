"""The report as one page: no scripts, nothing from elsewhere, light, dark and on paper."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from tacit.report.frontier_lines import FrontierLines
from tacit.report.public_check import PublicCheck
from tacit.report.signal import SignalTest
from tacit.report.statement import PrivacyStatement, rounded_up
from tacit.report.svg import BarRow, BarSegment, Line, Mark, bars, escaped, lines, swatch
from tacit.students.active.curve import LearningCurve

if TYPE_CHECKING:
    from tacit.report.run_report import RunReport

_LONGEST_SETTING = 2000
_MOST_COLUMNS = 12

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>Report of a private run: {title}</title>
<style>
{style}
</style>
</head>
<body>
<header>
<p class="brand">tacit <span>report of a run</span></p>
<h1>{title}</h1>
<p class="lead">{lead}</p>
</header>
<main>
{sections}
</main>
<footer><p>Everything on this page was released or is public. tacit {version}.</p></footer>
</body>
</html>
"""


def html_page(report: RunReport, frontier: Any = None) -> str:
    """Return the page of a report.

    Parameters
    ----------
    report : RunReport
    frontier : optional
        What ``FrontierLines.of`` reads.
    """
    statement = report.statement
    drawn = None if frontier is None else FrontierLines.of(frontier)
    sections = [
        _warning(statement),
        _no_signal(report.signal),
        _statement(statement),
        _symbols(statement),
        _budget(statement),
        _released(report),
        _curve(report.curve),
        _check(report.check),
        _frontier(drawn, report),
        _assumptions(statement),
        _reproduction(report),
        _programs(report),
    ]
    return _PAGE.format(
        title=escaped(statement.title()),
        style=files("tacit.report").joinpath("page.css").read_text(encoding="utf-8"),
        lead=escaped(_lead(report)),
        sections="\n".join(section for section in sections if section),
        version=escaped(report.versions.get("tacit", "")),
    )


def _lead(report: RunReport) -> str:
    if report.corrected:
        return f"{_many(report.statement.questions, 'round')} of corrections of a student."
    return (
        f"{_many(report.asked, 'public point')} asked about, {_many(report.answered, 'answer')}, "
        f"{_many(report.refused, 'refusal')}."
    )


# ---- the guarantee ----------------------------------------------------------------------------


def _warning(statement: PrivacyStatement) -> str:
    if statement.secure:
        return ""
    return (
        '<section class="card wide insecure" role="alert"><h2>Insecure: no guarantee</h2>'
        "<p>The noise came from a test source. Nothing on this page is protected.</p></section>"
    )


def _no_signal(signal: SignalTest | None) -> str:
    if signal is None or signal.is_significant:
        return ""
    _, _, words = str(signal).partition(": ")
    return (
        '<section class="card wide insecure" role="alert"><h2>No signal</h2>'
        f"<p>{escaped(words[0].upper() + words[1:])}</p></section>"
    )


def _statement(statement: PrivacyStatement) -> str:
    elsewhere = {"It rests on", "Budget and spent", "INSECURE"}  # in sections of their own
    rows = [(head, words) for head, words in statement.rows() if head not in elsewhere]
    return _card("Privacy statement", f'<dl class="said">{_pairs(rows)}</dl>', wide=True)


def _symbols(statement: PrivacyStatement) -> str:
    epsilon, delta = rounded_up(statement.epsilon, 6), rounded_up(statement.delta, 3)
    return _card(
        "In symbols",
        '<p class="formula"><i>P</i>[<i>M</i>(<i>D</i>) &isin; <i>A</i>] &le; '
        "e<sup>&epsilon;</sup>&thinsp;<i>P</i>[<i>M</i>(<i>D</i>&prime;) &isin; <i>A</i>] + "
        "&delta;</p>"
        f'<p class="formula">&epsilon; = {escaped(epsilon)},&emsp;&delta; = {escaped(delta)}</p>'
        f"<p>for all sets <i>A</i> of outcomes and all data sets <i>D</i>, <i>D</i>&prime;, "
        f"{escaped(statement.differ())}; <i>M</i> is everything that this run released.</p>",
    )


def _budget(statement: PrivacyStatement) -> str:
    budget, spent = statement.epsilon, statement.spent_epsilon
    shown_budget, shown_spent = rounded_up(budget, 4), rounded_up(spent, 4)
    gauge = bars(
        "Budget and spent",
        [
            BarRow("budget", (BarSegment(budget, "bar budget", f"budget: epsilon {shown_budget}"),),
                f"\u03b5 {shown_budget}"),
            BarRow("spent", (BarSegment(spent, "bar spent", f"spent: epsilon {shown_spent}"),),
                f"\u03b5 {shown_spent}"),
        ],
        total=max(budget, spent),
        width=360,
    )  # fmt: skip
    words = dict(statement.rows())["Budget and spent"]
    # "Budget: ... Spent: ...": one paragraph each.
    first, _, rest = words.partition(" Spent: ")
    return _card(
        "Budget used",
        f"{gauge}<p>{escaped(first)}</p><p>Spent: {escaped(rest)}</p>",
    )


def _assumptions(statement: PrivacyStatement) -> str:
    if not statement.assumptions:
        return ""
    items = "".join(f"<li>{escaped(words)}</li>" for words in statement.assumptions)
    return _card(
        "It rests on",
        f"<p>The numbers above hold if all of this does:</p><ul>{items}</ul>",
        wide=True,
    )


# ---- what was released ------------------------------------------------------------------------


def _released(report: RunReport) -> str:
    if report.corrected:
        return _card(
            "What was released",
            f"<p>{_many(report.statement.questions, 'noisy mean')} of what "
            f"{escaped(report.settings.get('n_teachers', ''))} teachers would change in the "
            "student, one per round.</p>",
        )
    n_questions = max(report.asked, 1)
    both = bars(
        "Answers and refusals",
        [
            BarRow("answered", (BarSegment(report.answered, "bar answered", "answered"),),
                f"{report.answered} ({report.answered / n_questions:.0%})"),
            BarRow("refused", (BarSegment(report.refused, "bar refused", "refused"),),
                f"{report.refused} ({report.refused / n_questions:.0%})"),
        ],
        total=n_questions,
    )  # fmt: skip
    answered = max(sum(report.released.values()), 1)
    balance = bars(
        "Released labels by class",
        [
            BarRow(name, (BarSegment(count, "bar class", f"{name}: {count}"),),
                f"{count} ({count / answered:.0%})")
            for name, count in report.released.items()
        ],
    )  # fmt: skip
    shares = str(report.settings.get("release", "")) == "share"
    note = (
        "Shares of the vote were released; each is counted here for its largest class."
        if shares
        else "The balance includes the noise: it is what was released, not what the records hold."
    )
    batches = ""
    if len(report.batches) > 1:
        batches = (
            f"<p>In {len(report.batches)} batches of {min(report.batches)} to "
            f"{max(report.batches)} questions, ended by: {escaped(report.ended())}.</p>"
        )
    return _card(
        "What was released",
        f"<h3>Answers and refusals</h3>{both}{batches}"
        f'<h3>Labels by class</h3>{balance}<p class="note">{note}</p>',
        wide=True,
    )


def _curve(curve: LearningCurve | None) -> str:
    if curve is None or not curve.asked:
        return ""
    series = [
        Line("next labels foreseen", _without_nan(curve.foreseen)),
        Line("released labels reproduced", _without_nan(curve.fitted)),
    ]
    if curve.accuracy is not None:
        series.append(Line("accuracy on labelled public points", _without_nan(curve.accuracy)))
    chart = lines(
        "How the student grew",
        curve.asked,
        series,
        x_name="questions asked",
        y_name="share",
    )
    rows = [
        [f"{n_questions}", *(_percent(line.values[place]) for line in series)]
        for place, n_questions in enumerate(curve.asked)
    ]
    table = _table(["questions", *(line.name for line in series)], rows)
    note = (
        "Agreement with released labels, which hold noise: not accuracy. Questions that were "
        "chosen because they are hard are foreseen less often."
    )
    return _card(
        "How the student grew",
        f'{chart}{_key(series)}<p class="note">{note}</p>{_numbers(table)}',
        wide=True,
    )


def _check(check: PublicCheck | None) -> str:
    if check is None or not check.n_points:
        return ""
    low, high = check.interval()
    summary = (
        f"<p>On {check.n_points:,} labelled public points the student is right on "
        f"<b>{check.accuracy:.1%}</b> (95% interval {low:.1%} to {high:.1%}).</p>"
    )
    if check.unknown:
        summary += (
            f"<p>The labels of {check.unknown:,} of them are none of the classes; these points "
            "count as wrong.</p>"
        )
    note = (
        '<p class="note">These points and labels were given as public. A number like this from '
        "private records would be a release of its own.</p>"
    )
    table = _matrix(check) if len(check.classes) <= _MOST_COLUMNS else _by_class(check)
    return _card("Predicted against actual", f"{summary}{table}{note}", wide=True)


def _matrix(check: PublicCheck) -> str:
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in check.classes)
    rows = []
    for place, (name, counts) in enumerate(zip(check.classes, check.counts, strict=True)):
        total = max(sum(counts), 1)
        cells = "".join(
            f'<td class="{"right" if at == place else "wrong"}" '
            f'style="--part:{count / total:.3f}">{count} <small>{count / total:.0%}</small></td>'
            for at, count in enumerate(counts)
        )
        rows.append(f'<tr><th scope="row">{escaped(name)}</th>{cells}</tr>')
    return (
        '<p class="note">Rows: the actual class. Columns: the predicted class; percentages are '
        'of the row.</p><div class="scroll"><table class="matrix">'
        f'<thead><tr><th scope="col">actual</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _by_class(check: PublicCheck) -> str:
    """The table for more classes than a matrix can show."""
    rows = []
    for place, (name, counts) in enumerate(zip(check.classes, check.counts, strict=True)):
        total = sum(counts)
        right = counts[place]
        wrong = [(count, at) for at, count in enumerate(counts) if at != place and count]
        most = max(wrong, default=None)
        confused_with = "" if most is None else f"{check.classes[most[1]]} ({most[0]})"
        rows.append([name, f"{total}", _percent(right / total if total else None), confused_with])
    return _table(["actual class", "points", "right", "most often taken for"], rows)


def _frontier(frontier: FrontierLines | None, report: RunReport) -> str:
    if frontier is None:
        return ""
    statement, check = report.statement, report.check
    measured = None if check is None or not check.n_points else check.accuracy
    series = [Line(name, values) for name, values in frontier.lines.items()]
    here = Mark("this run", max(statement.epsilon, 1e-6), measured)
    chart = lines(
        "The plan's frontier, and this run",
        frontier.epsilons,
        series,
        x_name=f"epsilon, at delta {frontier.delta:g} (logarithmic)",
        y_name="predicted accuracy",
        logarithmic=True,
        floor=frontier.baseline,
        mark=here,
    )
    note = (
        "The circle is the accuracy on labelled public points."
        if measured is not None
        else "Its accuracy is not known: no labelled public points were given."
    )
    if not math.isclose(frontier.delta, statement.delta, rel_tol=1e-6):
        note += (
            f" The frontier was drawn for delta {frontier.delta:g}, this run has delta "
            f"{rounded_up(statement.delta, 3)}."
        )
    remarks = "".join(f"<p>{escaped(remark)}</p>" for remark in frontier.remarks)
    table = _table(
        ["epsilon", *(line.name for line in series)],
        [
            [f"{epsilon:g}", *(_percent(line.values[place]) for line in series)]
            for place, epsilon in enumerate(frontier.epsilons)
        ],
    )
    return _card(
        "The plan's frontier, and this run",
        f"{chart}{_key(series, floor='guessing one class', mark='this run')}"
        f'<p class="note">Lines are predictions from public evidence. {escaped(note)}</p>'
        f"{remarks}{_numbers(table)}",
        wide=True,
    )


# ---- how to do it again -----------------------------------------------------------------------


def _reproduction(report: RunReport) -> str:
    settings = [[name, _setting(value)] for name, value in report.settings.items()]
    versions = [[name, str(value)] for name, value in report.versions.items()]
    recipe = ""
    if report.command:
        recipe += f"<p>The command:</p><pre>{escaped(report.command)}</pre>"
    if report.call:
        recipe += (
            f"<p>In Python, with the objects of this run:</p><pre>{escaped(report.call)}</pre>"
        )
    return _card(
        "How to reproduce it",
        "<p>Privacy noise is never seeded. The same settings on the same records are a new "
        "release: they spend again and give other answers of the same quality.</p>"
        f"{recipe}<h3>Settings in force</h3>{_table(['setting', 'value'], settings)}"
        f"<h3>Versions</h3>{_table(['package', 'version'], versions)}",
        wide=True,
    )


def _programs(report: RunReport) -> str:
    text = json.dumps(report.to_dict(), indent=1, default=str)
    return (
        '<details class="card wide programs"><summary>This report for programs (JSON)</summary>'
        f"<pre>{escaped(text)}</pre></details>"
    )


# ---- pieces -----------------------------------------------------------------------------------


def _card(title: str, body: str, *, wide: bool = False) -> str:
    return f'<section class="card{" wide" if wide else ""}"><h2>{title}</h2>{body}</section>'


def _pairs(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<dt>{escaped(head)}</dt><dd>{escaped(words)}</dd>" for head, words in rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{escaped(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        + "".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _numbers(table: str) -> str:
    return f"<details><summary>The numbers</summary>{table}</details>"


def _key(series: Sequence[Line], *, floor: str = "", mark: str = "") -> str:
    items = [f"{swatch(number)} {escaped(line.name)}" for number, line in enumerate(series)]
    if floor:
        items.append(f'<span class="sample floor-sample"></span> {escaped(floor)}')
    if mark:
        items.append(f'<span class="sample mark-sample"></span> {escaped(mark)}')
    return f'<ul class="key">{"".join(f"<li>{item}</li>" for item in items)}</ul>'


def _without_nan(values: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else value for value in values)


def _percent(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.1%}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _setting(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_SETTING else text[:_LONGEST_SETTING] + " \u2026"
