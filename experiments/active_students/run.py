"""Is it worth choosing the questions? Passive, random and every strategy at equal epsilon.

Data: mushrooms, a9a, 20 newsgroups as two classes (``rec.*`` and ``misc.forsale`` against the
rest), and generated records (linear log-odds: 10 features and 100,000 records, or 60 features,
a sharper boundary and 30,000 records). For each split,
drawn by ``numpy.random.default_rng(seed).permutation``, the first 80% are private, the next 2% the
public pool, the rest the test set. delta is one over the number of private records; neighbours:
one record replaced. Teachers, representation and students are the classifier's defaults; in the
rows marked "paper" teachers are those of [LZCW21], about 100 records each and the features as they
are, and a label is priced like the count behind it. The teachers of a split are trained once; each
variant draws its own secure noise.

    python experiments/active_students/run.py --splits 400:420 --jobs 16

Look for: ``DiverseMargin`` against random questions of the same number (paired), and against hard
labels of the whole pool. Rows go to ``results/active_students_<data>.jsonl`` as they come; a second
run goes on where the first stopped. The summary goes to ``results/active_students.json``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.accounting.calibrate import Calibration
from tacit.data.pool import take
from tacit.data.representations.coordinates import PoolRepresentation
from tacit.data.sets import load_two_classes
from tacit.data.sets.synthetic import LogisticModel
from tacit.estimators.releases import Released
from tacit.estimators.vote_settings import distinct_points
from tacit.estimators.voting import OpenPool, ReleaseTerms, release_all, release_in_batches
from tacit.labeling import question_keys
from tacit.ledger import MemoryLedger
from tacit.mechanisms import GaussianVote
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise
from tacit.planning.rules import questions_for, teachers_for
from tacit.students.active import ExactCAL, ScikitActiveML
from tacit.students.active.named import STRATEGIES
from tacit.students.fitting import fit_student
from tacit.teachers import equal_split
from tacit.teachers.represented import RepresentedRows
from tacit.teachers.train import train_and_count

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import RESULTS, write

EPSILONS = (0.5, 1.0, 2.0)
Data = tuple[Any, Any]


def real(name: str) -> Callable[[], Data]:
    """Return the loader of a real data set."""

    def load() -> Data:
        data = load_two_classes(name)
        return data.X, data.y

    return load


def generated() -> Data:
    rng = np.random.default_rng(5)
    return LogisticModel(10, 4.0, rng=rng).draw(100_000, rng)


def generated_wide() -> Data:
    rng = np.random.default_rng(6)
    return LogisticModel(60, 12.0, rng=rng).draw(30_000, rng)


DATA: dict[str, Callable[[], Data]] = {
    "mushrooms": real("mushrooms"),
    "a9a": real("a9a"),
    "newsgroups-2": real("newsgroups"),
    "generated": generated,
    "generated-wide": generated_wide,
}


def stumps(points: Any) -> ExactCAL:
    """Return the exact strategy over stumps: each column above its mean, and the reverse."""
    table = points.toarray() if sparse.issparse(points) else np.asarray(points)
    busy = np.argsort(-(table != 0).sum(axis=0), kind="stable")[:1000]
    above = (table[:, busy] > table[:, busy].mean(axis=0)).T
    classes = np.unique(np.vstack([above, ~above]), axis=0)
    return ExactCAL(classes, vc_dimension=max(1, int(np.log2(len(classes)))))


def _strategy(query: str, given: Any) -> Any:
    if query == "exact-cal":
        return stumps(given)
    if query == "activeml-uncertainty":
        from skactiveml.pool import UncertaintySampling

        return ScikitActiveML(UncertaintySampling())
    return STRATEGIES[query]()


class Split:
    """One split of one data set: its pool, its test set and its teachers' votes."""

    def __init__(self, X: Any, y: Any, seed: int) -> None:
        n = len(y)
        order = np.random.default_rng(seed).permutation(n)
        private, pool, test = np.split(order, [int(0.8 * n), int(0.8 * n) + int(0.02 * n)])
        self.X, self.y = take(X, private), y[private]
        self.pool, self.n, self.seed = take(X, pool), len(private), seed
        self.test, self.truth = take(X, test), y[test]
        represent = PoolRepresentation().fit(self.pool)
        self.points = represent.transform(self.pool)
        self.records = RepresentedRows(self.X, represent, self.points)
        self.names = question_keys(self.points)
        self.distinct = distinct_points(self.names)
        self.coordinates = PoolRepresentation(scale=4.0, flatten=0.0).fit(self.pool)
        self.seen = self.coordinates.transform(take(self.pool, self.distinct))
        self._votes: dict[tuple[str, int], VoteCounts] = {}

    def votes(self, teachers: str, epsilon: float) -> VoteCounts:
        paper = teachers == "paper"
        number = self.n // 100 if paper else teachers_for(self.n, epsilon)
        if (teachers, number) not in self._votes:
            shards = equal_split(self.n, number, np.random.default_rng([self.seed, 1]))
            self._votes[teachers, number] = train_and_count(
                LogisticRegression(),
                self.X if paper else self.records,
                self.y,
                shards,
                take(self.pool if paper else self.points, self.distinct),
                classes=[0, 1],
                seed=self.seed,
                progress=False,
            )
        return self._votes[teachers, number]

    def run(
        self, epsilon: float, query: str, output: Output, n_questions: int, teachers: str
    ) -> dict[str, Any]:
        """Return accuracy and number of questions of one variant."""
        budget = Budget(epsilon, 1 / self.n)
        bit = output is Output.LABEL and teachers == "default"
        vote = GaussianVote.for_budget(
            budget,
            answers=n_questions,
            output=output,
            calibration=Calibration.LABEL if bit else Calibration.EXACT,
        )
        noise = SecureNoise()
        terms = ReleaseTerms(vote, budget, MemoryLedger(budget), "experiment", noise)
        votes = self.votes(teachers, epsilon)
        names = [self.names[place] for place in self.distinct]
        pool = OpenPool(self.distinct, terms.open(votes, names, n_questions))
        released = self._released(pool, query, n_questions)
        student = fit_student(
            None,
            self.pool,
            released,
            2,
            "unlabelled",
            np.random.default_rng(self.seed),
            represented=False,
        )
        return {
            "accuracy": float(np.mean(student.predict(self.test) == self.truth)),
            "asked": len(released.answers),
        }

    def _released(self, pool: OpenPool, query: str, n_questions: int) -> Released:
        if query == "everything":
            return release_all(pool)
        given = take(self.pool, self.distinct)
        strategy = _strategy(query, given)
        wanted = getattr(strategy, "coordinates", "pool")
        return release_in_batches(
            pool,
            strategy,
            given if wanted == "given" else self.seen,
            n_questions,
            np.random.default_rng([self.seed, 2]),
            planned=n_questions,
            n_batches=15,
            n_classes=2,
        )


def variants(teachers: str) -> list[tuple[str, Output]]:
    """Return what is compared: (who chooses the questions, what is released)."""
    if teachers == "paper":
        return [(query, Output.LABEL) for query in ("everything", "random", "diverse-margin")]
    queries = ("everything", *STRATEGIES, "exact-cal", "activeml-uncertainty")
    return [(query, output) for output in (Output.LABEL, Output.SHARE) for query in queries]


def run_split(name: str, seed: int, teachers: str, known: set[Any]) -> list[dict[str, Any]]:
    """Return one row for each variant that is not known yet."""
    warnings.simplefilter("ignore")
    split, rows = Split(*DATA[name](), seed), []
    m = len(split.distinct)
    chosen = questions_for(m, shares=False)
    for epsilon in EPSILONS:
        for query, output in variants(teachers):
            if (epsilon, query, output.value) in known:
                continue
            n_questions = m if query == "everything" else chosen
            found = split.run(epsilon, query, output, n_questions, teachers)
            key = {"data": name, "seed": seed, "teachers": teachers, "epsilon": epsilon}
            rows.append({**key, "query": query, "output": output.value, **found})
    return rows


Variant = tuple[str, str, str]


def accuracies(rows: list[dict[str, Any]], variant: Variant, **where: Any) -> dict[Any, float]:
    """Return the accuracy of a variant on every split that ``where`` picks."""
    wanted = {**dict(zip(("teachers", "query", "output"), variant, strict=True)), **where}
    return {
        (row["data"], row["seed"], row["epsilon"]): row["accuracy"]
        for row in rows
        if all(row[name] == value for name, value in wanted.items())
    }


def mean(values: Any) -> list[float]:
    """Return mean and standard error."""
    found = np.array(list(values))
    return [round(float(found.mean()), 4), round(float(found.std(ddof=1) / len(found) ** 0.5), 4)]


def difference(rows: list[dict[str, Any]], one: Variant, two: Variant, **where: Any) -> list[float]:
    """Return mean and standard error of the paired difference of two variants."""
    first, second = accuracies(rows, one, **where), accuracies(rows, two, **where)
    return mean(first[key] - second[key] for key in sorted(first))


def cells(rows: list[dict[str, Any]], one: Variant, two: Variant) -> dict[str, Any]:
    """Return the difference of two variants, pooled and in every cell."""
    names = sorted({row["data"] for row in rows})
    return {
        "pooled": difference(rows, one, two),
        **{
            f"{name}, epsilon {epsilon:g}": difference(rows, one, two, data=name, epsilon=epsilon)
            for name in names
            for epsilon in EPSILONS
        },
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return mean accuracies, and the paired differences that are asked about."""
    names = sorted({row["data"] for row in rows})
    every = [(t, q, o.value) for t in ("default", "paper") for q, o in variants(t)]
    table = {
        ", ".join(variant): {
            name: [
                mean(accuracies(rows, variant, data=name, epsilon=epsilon).values())
                for epsilon in EPSILONS
            ]
            for name in names
        }
        for variant in every
    }
    pairs = {
        f"{query} - random, {output}, {teachers} teachers": cells(
            rows, (teachers, query, output), (teachers, "random", output)
        )
        for teachers, query, output in every
        if query not in ("random", "everything")
    }
    for teachers, output in (("paper", "label"), ("default", "label"), ("default", "share")):
        one, hard = (teachers, "diverse-margin", output), (teachers, "everything", "label")
        pairs[f"diverse-margin, {output} - hard labels of the whole pool, {teachers} teachers"] = {
            "pooled at epsilon 1": difference(rows, one, hard, epsilon=1.0),
            **cells(rows, one, hard),
        }
    one, two = ("default", "diverse-margin", "share"), ("default", "everything", "share")
    pairs["diverse-margin - the whole pool, shares, default teachers"] = cells(rows, one, two)
    return {
        "accuracy at epsilon 0.5, 1, 2: mean and standard error": table,
        "paired differences: mean and standard error": pairs,
    }


def _log(name: str) -> Path:
    return RESULTS / f"active_students_{name}.jsonl"


def _lines(name: str) -> list[str]:
    return _log(name).read_text().splitlines() if _log(name).exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(DATA), help=", ".join(DATA))
    parser.add_argument("--splits", default="400:420", help="first:last+1 seeds")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    first, last = map(int, arguments.splits.split(":"))
    RESULTS.mkdir(exist_ok=True)
    done = [json.loads(line) for name in DATA for line in _lines(name)]
    known: dict[Any, set[Any]] = {}
    for row in done:
        where = row["data"], row["seed"], row["teachers"]
        known.setdefault(where, set()).add((row["epsilon"], row["query"], row["output"]))
    tasks = [
        joblib.delayed(run_split)(name, seed, teachers, known.get((name, seed, teachers), set()))
        for teachers in ("default", "paper")
        for name in arguments.names
        for seed in range(first, last)
        if len(known.get((name, seed, teachers), ())) < len(EPSILONS) * len(variants(teachers))
    ]
    parallel = joblib.Parallel(arguments.jobs, return_as="generator_unordered", batch_size=1)
    for rows in parallel(tasks):
        with _log(rows[0]["data"]).open("a") as log:
            log.writelines(json.dumps(row) + "\n" for row in rows)
        done += rows
        print(rows[0]["data"], rows[0]["seed"], flush=True)
    found = summary(done)
    print(json.dumps(found, indent=1))
    write("active_students", {"splits": arguments.splits, **found})


if __name__ == "__main__":
    main()
