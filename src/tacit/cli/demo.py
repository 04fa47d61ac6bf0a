"""``tacit demo``: the whole idea in under a minute, on data made up for it."""

from __future__ import annotations

from dataclasses import dataclass

import click
import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit.accounting.budget import Budget
from tacit.data.sets.synthetic import LogisticModel
from tacit.estimators.classifier import PATEClassifier

TEST_POINTS = 100_000


@dataclass(frozen=True)
class DemoResult:
    """The fitted classifier, and accuracies in the order in which they are printed."""

    classifier: PATEClassifier
    student: float
    not_private: float
    best: float


@click.command()
@click.option("--records", default=20_000, show_default=True, type=click.IntRange(100))
@click.option("--points", default=400, show_default=True, type=click.IntRange(10))
@click.option("--epsilon", default=1.0, show_default=True, type=float)
@click.option("--delta", default=1e-5, show_default=True, type=float)
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0),
              help="Seed of the data; privacy noise is never seeded.")  # fmt: skip
def demo(records: int, points: int, epsilon: float, delta: float, seed: int) -> None:
    """Learn from private records with the default settings, and show what leaked.

    Generates data whose best possible error is known, trains a teacher on each of many disjoint
    shards, releases what they would correct about a public model with differential privacy, round
    by round, and prints the model's accuracy and the privacy statement.

    Example: tacit demo --epsilon 0.5
    """
    budget = Budget(epsilon, delta)
    click.echo(
        f"{records:,} generated private records, {points} public points, "
        f"epsilon {epsilon:g}, delta {delta:g}."
    )
    result = run_demo(records, points, budget, np.random.default_rng(seed))
    chosen = result.classifier.resolved_params_
    teachers, rounds = chosen["n_teachers"], chosen["rounds"]
    click.echo(f"{teachers} teachers corrected a student in {rounds} rounds.\n")
    click.echo(_accuracies(result))
    click.echo(f"{result.classifier.privacy_}\n\n{_NEXT}")


def run_demo(n_records: int, n_points: int, budget: Budget, rng: np.random.Generator) -> DemoResult:
    """Return what the demonstration found.

    Privacy
    -------
    Neighbours: ``replace``. Only the classifier comes from private releases; the other figures may
    be shown because the data are generated.
    """
    model = LogisticModel(rng=rng)
    features, labels = model.draw(n_records, rng)
    pool, _ = model.draw(n_points, rng)
    test, _ = model.draw(TEST_POINTS, rng)
    classifier = PATEClassifier(epsilon=budget.epsilon, delta=budget.delta, classes=[0, 1]).fit(
        features, labels, X_public=pool
    )
    plain = LogisticRegression().fit(features, labels)
    return DemoResult(
        classifier,
        student=model.accuracy(test, classifier.predict(test)),
        not_private=model.accuracy(test, plain.predict(test)),
        best=model.accuracy(test, model.best_predict(test)),
    )


def _accuracies(result: DemoResult) -> str:
    rows = (
        ("private student, on new data", result.student),
        ("logistic regression trained on all records, not private", result.not_private),
        ("best possible: knows how the data were generated", result.best),
    )
    lines = "\n".join(f"  {value:6.1%}  {name}" for name, value in rows)
    return f"Accuracy\n\n{lines}\n"


_NEXT = (
    "In this demo the records are generated and belong to nobody, so the accuracy of the model\n"
    "that is not private may be shown. Where to look next: docs/start.md for your own data,\n"
    "docs/proofs for why the numbers hold, and `tacit audit`, which measures the guarantee on\n"
    "this machine."
)
