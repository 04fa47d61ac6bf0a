"""``tacit fit --method corrections``: teachers that correct a student, from files to files."""

from __future__ import annotations

import json

import pytest

from tacit.cli.main import BAD_INPUT, NOT_RELEASED
from tacit.persistence import load_student
from tacit.report import RunReport
from tacit.teachers.corrections.logistic import LogisticCorrections

pytestmark = pytest.mark.needs("pandas")


@pytest.mark.parametrize("learner", ["built-in", "logistic"])
def test_from_two_files_to_a_model_and_a_report(desk, learner):
    how = {"learner": learner, "method": "corrections", "rounds": 2, "n_teachers": 60}
    done = desk.fit(**how, report=desk.folder / "report.json")
    assert done.exit_code == 0, done.output
    assert "correction" in done.stdout
    model = load_student(desk.folder / "model.tacit")
    report = RunReport.from_json((desk.folder / "report.json").read_text())
    assert report.statement == model.privacy_
    assert report.statement.released == "corrections" and report.statement.questions == 2
    assert "--rounds 2" in report.command
    told = desk("predict", desk.folder / "model.tacit", desk.folder / "patients.csv",
                "--out", desk.folder / "predicted.csv")  # fmt: skip
    assert told.exit_code == 0, told.output


def test_a_dry_run_and_a_file_of_settings(desk):
    config = desk.put("run.toml", 'rounds = "auto"\nlearner = "built-in"\n')
    done = desk.fit(
        "--dry-run", "--n", 600, "--json", "--config", config, learner=None, n_teachers=None
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["cost"]["epsilon"] <= 1 and told["settings"]["release"] == "corrections"
    assert told["account"]["reserved"]["epsilon"] == 0
    refused = desk.fit("--dry-run", "--n", 600, learner="built-in", epsilon=4)
    assert refused.exit_code == NOT_RELEASED


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rounds": 0}, "--rounds"),
        ({"rounds": "many"}, "--rounds"),
        ({"method": "guess"}, "--method"),
        ({"learner": None, "labels": "labels.csv"}, "--labels: corrections release no labels"),
        ({"learner": None, "query": "margin"}, "--query is a setting of votes"),
        ({"learner": None, "mechanism": "laplace"}, "--mechanism is a setting of votes"),
        ({"learner": None, "n_questions": 9}, "--n-questions is a setting of votes"),
        ({"rounds": 2}, "--rounds is a setting of corrections, and this run uses votes"),
        ({"learner": None, "method": "votes"}, "the built-in teachers do not vote"),
        ({"learner": "built-in", "param": "C=2"}, "takes no arguments"),
        (
            {"method": "corrections", "learner": "sklearn.neighbors.KNeighborsClassifier"},
            "sample_weight",
        ),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_said_and_spends_nothing(desk, options, words):
    done = desk.fit(**options)
    assert done.exit_code == BAD_INPUT and words in done.stderr, done.output
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["reserved"]["epsilon"] == 0


def test_labels_are_votes(desk):
    done = desk(*desk.words("label", learner="built-in"))
    assert done.exit_code == BAD_INPUT and "built-in teachers do not vote" in done.stderr


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"learner": None}, "Corrections"),
        ({"learner": "logistic"}, "Votes"),  # behind a preparation of the columns
        ({"learner": "logistic", "method": "corrections"}, "Corrections"),
        ({"learner": "tree"}, "Votes"),
        ({"learner": "tree", "n_questions": 7, "query": "margin"}, "Votes"),
    ],
    ids=str,
)
def test_the_method_is_that_of_the_classifier(desk, options, method):
    done = desk.fit("--dry-run", "--n", 600, "--json", **options)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["settings"]["method"] == method


@pytest.mark.parametrize(("more", "told"), [({}, True), ({"method": "votes"}, False)], ids=str)
def test_a_learner_that_limits_the_run_is_named_unless_votes_were_asked_for(desk, more, told):
    done = desk.fit(learner="tree", n_questions=10, **more)
    assert done.exit_code == 0, done.output
    assert ("Note: Each DecisionTreeClassifier is trained on about 30 records" in done.stderr) == (
        told
    )


def test_a_run_that_was_interrupted_goes_on_with_the_rounds_it_has(desk, monkeypatch):
    made = []
    whole = LogisticCorrections.contributions

    def counted(self, metric):
        made.append(metric)
        if len(made) == 3:
            raise KeyboardInterrupt
        return whole(self, metric)

    monkeypatch.setattr(LogisticCorrections, "contributions", counted)
    how = {"learner": "built-in", "rounds": 4, "n_teachers": 60}
    stopped = desk.fit(**how)
    assert stopped.exit_code == 130, stopped.output
    done = desk.fit("--json", **how)
    assert done.exit_code == 0, done.output
    assert "resuming an interrupted run, which is paid for already" in done.stderr
    told = json.loads(done.stdout)
    assert told["resumed"] and told["account"]["reserved"]["epsilon"] <= 1.0001
    assert told["privacy"]["questions"] == 4
    # Two rounds before, the one that was stopped, and the two that were missing.
    assert len(made) == 5
