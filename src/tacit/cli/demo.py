"""``tacit demo``: the whole idea in under a minute, on data made up for it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import click
import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from tacit.datasets.synthetic import LogisticModel
from tacit.labeling import Labeler, question_keys
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.counts import VoteCounts
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import MemoryLedger
from tacit.privacy.noise import SecureNoise
from tacit.privacy.plan import Plan
from tacit.teachers.partition import equal_split, votes_moved

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

WIDTH = 92
TEST_POINTS = 100_000


@dataclass(frozen=True)
class DemoResult:
    """Accuracies of the demonstration, in the order in which they are printed."""

    released: float
    student: float
    not_private: float
    best: float
    plan: Plan
    statement: str


@click.command()
@click.option("--records", default=20_000, show_default=True, type=click.IntRange(100))
@click.option("--teachers", default=400, show_default=True, type=click.IntRange(2))
@click.option("--questions", default=300, show_default=True, type=click.IntRange(10))
@click.option("--epsilon", default=1.0, show_default=True, type=float)
@click.option("--delta", default=1e-5, show_default=True, type=float)
@click.option("--seed", default=0, show_default=True, help="Of the data; privacy noise has none.")
def demo(
    records: int, teachers: int, questions: int, epsilon: float, delta: float, seed: int
) -> None:
    """Release a few votes privately and show what it cost.

    Generates data, trains a teacher on each of many disjoint shards, releases the teachers' votes
    on public points with differential privacy, and trains a student on what was released.
    """
    budget = Budget(epsilon, delta)
    click.echo(
        f"{records:,} generated records, {teachers} teachers, {questions} public questions, "
        f"epsilon {epsilon:g}, delta {delta:g}."
    )
    result = run_demo(records, teachers, questions, budget, np.random.default_rng(seed))
    click.echo(_accuracies(result))
    click.echo(_privacy(result.plan, records, questions))
    click.echo(f"The ledger says:\n\n{_indented(result.statement)}\n\n{_NEXT}")


def run_demo(
    n_records: int, n_teachers: int, n_questions: int, budget: Budget, rng: np.random.Generator
) -> DemoResult:
    """Return what the demonstration found.

    Privacy
    -------
    Neighbours: ``replace``. Only ``released`` and ``student`` come from private releases; the other
    figures may be shown because the data are generated.
    """
    model = LogisticModel(rng=rng)
    features, labels = model.draw(n_records, rng)
    pool, pool_labels = model.draw(n_questions, rng)
    test, _ = model.draw(TEST_POINTS, rng)

    votes_moved("equal", "replace")  # the pairing for which the price below is proven
    shards = equal_split(n_records, n_teachers, rng)
    votes = _count_votes(features, labels, shards, pool)

    vote = GaussianVote.for_budget(budget, answers=n_questions, n_classes=2)
    ledger = MemoryLedger(budget)
    labeler = Labeler(
        vote, ledger, delta=budget.delta, noise=SecureNoise(), n_teachers=n_teachers, key="demo"
    )
    answers = labeler.ask(votes, question_keys(pool))
    released = np.array([answer.label for answer in answers], dtype=np.int64)

    return DemoResult(
        released=float(np.mean(released == pool_labels)),
        student=model.accuracy(test, _fitted(pool, released).predict(test)),
        not_private=model.accuracy(test, _fitted(features, labels).predict(test)),
        best=model.accuracy(test, model.best_predict(test)),
        plan=labeler.plan,
        statement=ledger.statement(),
    )


def _count_votes(
    features: FloatArray, labels: IntArray, shards: Sequence[NDArray[np.intp]], pool: FloatArray
) -> VoteCounts:
    for_one = np.zeros(len(pool), dtype=np.int64)
    # The teachers are tiny: threads of the linear algebra library would only wait for each other.
    with (
        threadpool_limits(1, user_api="blas"),
        click.progressbar(shards, label="Training teachers") as progress,
    ):
        for shard in progress:
            for_one += _fitted(features[shard], labels[shard]).predict(pool)
    return VoteCounts(np.column_stack([len(shards) - for_one, for_one]), len(shards))


def _fitted(features: FloatArray, labels: IntArray) -> LogisticRegression | DummyClassifier:
    # A shard with one class still gives a teacher: whether it has two is private.
    if labels.min() == labels.max():
        return DummyClassifier(strategy="constant", constant=labels[0]).fit(features, labels)
    return LogisticRegression().fit(features, labels)


# ---- words ------------------------------------------------------------------------------------


def _accuracies(result: DemoResult) -> str:
    rows = (
        ("labels released privately, on the public points", result.released),
        ("student trained on those labels, on new data", result.student),
        ("the same model trained on all records, not private", result.not_private),
        ("best possible: knows how the data were generated", result.best),
    )
    lines = "\n".join(f"  {value:6.1%}  {name}" for name, value in rows)
    return f"\nAccuracy\n\n{lines}\n"


def _privacy(plan: Plan, n_records: int, n_questions: int) -> str:
    epsilon, delta = plan.guarantee.epsilon, plan.guarantee.delta
    rows = (
        ("What is protected", f"Each of the {n_records:,} training records: all of its values."),
        (
            "From whom",
            f"From everyone who sees the {n_questions} released labels, the student, or anything "
            "computed from them, whatever else they know or learn later.",
        ),
        (
            "How strongly",
            f"Differential privacy with epsilon = {epsilon:.4g} and delta = {delta:.3g}. Had any "
            "one record been different, no outcome would have been more than "
            f"{math.exp(epsilon):.3g} times as likely, or less than {math.exp(-epsilon):.3g} "
            f"times as likely, but for a probability of {delta:.3g}.",
        ),
        (
            "Compared with",
            "The same data with one record replaced by another. The number of records is public.",
        ),
        (
            "Established by",
            f"{plan.accountant}, for the whole run, before the first label was released.",
        ),
        (
            "Assumed",
            "Shards do not overlap; the public questions were chosen without looking at the "
            "records; the noise comes from this computer's secure generator; whoever runs this "
            "program, and can see the records anyway, is trusted.",
        ),
        (
            "Not covered",
            "People with several records; what is true of everybody alike, which a student is "
            "meant to learn; how long the program takes.",
        ),
        (
            "In this demo",
            "The records are generated and belong to nobody. The accuracy of the model that is "
            "not private is no private release: it is shown for comparison only.",
        ),
    )
    return "Privacy statement\n\n" + "\n".join(_row(*row) for row in rows) + "\n"


def _row(name: str, text: str) -> str:
    indent = " " * 21
    filled = textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
    return f"  {name:<19}{filled[21:]}"


def _indented(text: str) -> str:
    lines = (
        textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="    ")
        for line in text.splitlines()
    )
    return "\n".join(lines)


_NEXT = (
    "Where to look next: docs/guide, the proof in docs/proofs/gaussian_vote.md, and tacit audit,\n"
    "which measures the guarantee on this machine."
)
