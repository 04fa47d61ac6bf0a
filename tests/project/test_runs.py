"""Runs that go on: what is kept, what is trained again, and that nothing is paid twice."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import Budget, Votes
from tacit.data import Column, PointReader, Schema
from tacit.data.cells import rounded
from tacit.errors import DamagedFile, ExposedFiles, InvalidArgument
from tacit.project import Project, ProjectClassifier, RunFolder, learner_for

SETTINGS = {"epsilon": 1.0}
PEOPLE = [f"p{k}" for k in range(200)]
RECORDS = set(rounded(np.random.default_rng(0).normal(size=(200, 2)))[:, 0])


class Counting(LogisticRegression):
    """Says how often it was trained on records; stops the run on the way when told to."""

    fits = 0
    stop_after = 10**9

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits += int(X[0, 0] in RECORDS)
        if type(self).fits > type(self).stop_after:
            raise KeyboardInterrupt
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def count() -> None:
    Counting.fits, Counting.stop_after = 0, 10**9


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project.create(tmp_path / "study")
    made.add("patients", Budget(2.0, 1e-4))
    return made


def task() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    return X, (X[:, 0] > 0).astype(int), rng.normal(size=(30, 2))


def classifier(project: Project) -> ProjectClassifier:
    return ProjectClassifier(
        Counting(),
        epsilon=1.0,
        delta=1e-5,
        classes=[0, 1],
        neighbouring="add-remove",
        n_teachers=10,
        method=Votes(query=None),
        representation=None,
        ledger=project.ledger("patients"),
        verbose=False,
    )


def trained(keep: Any = slice(None), *, project: Project, run: RunFolder) -> ProjectClassifier:
    X, y, pool = task()
    people = np.array(PEOPLE)[keep]
    return classifier(project).on(run).fit(X[keep], y[keep], X_public=pool, groups=people)


def test_a_run_that_was_stopped_trains_only_what_it_had_not_come_to(project: Project) -> None:
    Counting.stop_after = 4
    with project.run("patients", SETTINGS) as run, pytest.raises(KeyboardInterrupt):
        trained(project=project, run=run)
    assert project.account("patients").reserved.epsilon == 0
    Counting.fits, Counting.stop_after = 0, 10**9
    with project.run("patients", SETTINGS) as run:
        assert run.resumed
        trained(project=project, run=run)
    assert Counting.fits == 10 - 4


def test_the_same_run_again_gives_the_same_labels_and_costs_nothing(project: Project) -> None:
    found = []
    for _ in range(2):
        with project.run("patients", SETTINGS) as run:
            found.append(trained(project=project, run=run).released_)
    np.testing.assert_array_equal(found[0].labels, found[1].labels)
    np.testing.assert_array_equal(found[0].shares, found[1].shares)
    assert project.account("patients").reserved.epsilon == pytest.approx(1.0, rel=1e-3)


def test_deleting_a_person_retrains_that_shard_and_keeps_spend_and_answers(
    project: Project,
) -> None:
    with project.run("patients", SETTINGS) as run:
        before = trained(project=project, run=run).released_
    trained_first = Counting.fits
    rest = np.array([k != 7 for k in range(200)])
    with project.run("patients", SETTINGS) as run:
        after = trained(rest, project=project, run=run).released_
    assert Counting.fits - trained_first == 1
    np.testing.assert_array_equal(before.shares, after.shares)
    assert project.account("patients").reserved.epsilon == pytest.approx(1.0, rel=1e-3)


def test_a_fresh_run_spends_again(project: Project) -> None:
    for fresh in (False, True):
        with project.run("patients", SETTINGS, fresh=fresh) as run:
            trained(project=project, run=run)
    assert project.account("patients").reserved.epsilon == pytest.approx(2.0, rel=1e-3)


def test_everything_kept_is_closed_to_others_and_goes_when_the_run_is_done(
    project: Project,
) -> None:
    private = project.folder / ".tacit"
    with project.run("patients", SETTINGS) as run:
        trained(project=project, run=run)
        for path in [private, *private.rglob("*")]:
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert project.account("patients").unfinished == 1
        run.discard()
    assert project.account("patients").unfinished == 0
    assert not list(private.rglob("*.votes"))


def test_two_processes_do_not_work_on_one_run(project: Project) -> None:
    with project.run("patients", SETTINGS):
        with pytest.raises(InvalidArgument, match="Another process"):
            project.run("patients", SETTINGS).__enter__()


def test_damaged_votes_are_not_used(project: Project) -> None:
    with project.run("patients", SETTINGS) as run:
        run.votes.save({3: (b"mark", np.array([0, 1, 1]))})
        found = run.votes.load(3, b"mark")
        assert found is not None and found.tolist() == [0, 1, 1]
        assert run.votes.load(3, b"another") is None
        assert run.votes.load(4, b"mark") is None
        (file,) = (project.folder / ".tacit").rglob("*.votes")
        file.write_bytes(file.read_bytes()[:-1])
        assert run.votes.load(3, b"mark") is None


def test_a_damaged_state_is_said_and_can_be_discarded(project: Project) -> None:
    with project.run("patients", SETTINGS):
        pass
    (state,) = (project.folder / ".tacit").rglob("run.json")
    state.write_text("{}")
    with pytest.raises(DamagedFile, match="discard"), project.run("patients", SETTINGS):
        pass
    assert project.discard("patients") == 1
    assert project.account("patients").unfinished == 0


def test_a_project_open_to_others_is_refused(project: Project) -> None:
    (project.folder / ".tacit").chmod(0o755)
    with pytest.raises(ExposedFiles):
        Project(project.folder)


@pytest.mark.parametrize("name", ["", "a/b", "..", "a" * 65, "-x", "a b"])
def test_names_that_could_be_paths_are_refused(project: Project, name: str) -> None:
    with pytest.raises(InvalidArgument, match="name must have letters"):
        project.add(name, Budget(1.0, 1e-5))


def test_a_name_keeps_its_budget(project: Project) -> None:
    with pytest.raises(InvalidArgument, match="there already"):
        project.add("patients", Budget(9.0, 1e-5))
    with pytest.raises(InvalidArgument, match="known: patients"):
        project.ledger("other")


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("name", ["boosting", "forest", "logistic", "tree", "sklearn.svm.SVC"])
def test_learners_take_missing_and_unknown_values(name: str) -> None:
    import pandas as pd

    schema = Schema([Column("age"), Column("empty"), Column("sex", "category", ("f", "m"))])
    cells = {"age": ["1", "", "3", "4"] * 5, "empty": [""] * 20, "sex": ["f", "m", "?", "z"] * 5}
    learner = learner_for(name, {}, schema)
    X = PointReader(schema).records(pd.DataFrame(cells, dtype=object))
    assert set(learner.fit(X, [0, 1, 0, 1] * 5).predict(X)) <= {0, 1}


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("nonsense", {}, "one of boosting"),
        ("no.such.Class", {}, "cannot be imported"),
        ("os.path.join", {}, "fit and predict"),
        ("tree", {"no_such": 1}, "does not take"),
    ],
)
def test_learners_that_cannot_be_made(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        learner_for(name, params, Schema((Column("age"),)))
