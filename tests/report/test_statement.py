"""What the statement and the report say, read as somebody who relies on them would."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument
from tacit.report import PrivacyStatement, RunReport


def statement(**changes) -> PrivacyStatement:
    fields = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "spent_epsilon": 0.5,
        "neighbouring": Neighbouring.REPLACE,
        "unit": "record",
        "mechanism": "GaussianVote",
        "accountant": "exact composition",
        "questions": 300,
        "assumptions": ("The pool is public.",),
        "secure": True,
    }
    return PrivacyStatement(**{**fields, **changes})


def text(**changes) -> str:
    return " ".join(str(statement(**changes)).split())


@pytest.mark.parametrize(
    ("relation", "unit", "words"),
    [
        ("replace", "record", "All values of one record"),
        ("replace", "person", "All values of all records of one person"),
        ("add-remove", "record", "Whether one record is in the data at all"),
        ("add-remove", "person", "Whether all records of one person are in the data"),
        ("labels", "record", "The label of one record, and nothing else"),
        ("labels", "person", "The labels of one person's records, and nothing else"),
        ("labels", "record", "the odds of any guess about the label of one record by"),
        ("labels", "person", "the odds of any guess about the labels of one person's records by"),
        ("labels", "record", "D', that differ in the label of one record, and"),
        ("replace", "record", "the odds of any guess about one record by"),
    ],
)
def test_it_says_what_is_protected(relation, unit, words):
    found = text(neighbouring=Neighbouring(relation), unit=unit)
    assert words in found


def test_it_says_from_whom_how_well_and_what_it_does_not_promise():
    found = text()
    assert "Everyone who sees the fitted model" in found
    assert "Not from whoever runs this program" in found
    assert "P[M(D) in A] <= exp(1) P[M(D') in A] + 1e-05" in found
    assert "a factor of at most 2.72" in found
    assert "What is not promised" in found
    assert "The pool is public." in found


def test_what_was_used_is_not_called_a_guarantee():
    assert "That is a reading, not a guarantee" in text()


@pytest.mark.parametrize("epsilon", [800.0, 1e6])
def test_an_epsilon_that_protects_nobody_says_so(epsilon):
    assert "no protection at all" in text(epsilon=epsilon)


def test_test_noise_voids_it_in_the_title():
    for found in (text(secure=False), statement(secure=False)._repr_html_()):
        assert found.index("INSECURE") < found.index("What is protected")
        assert "NO guarantee holds" in found
    assert "INSECURE" not in text()


def test_html_is_escaped():
    found = statement(assumptions=("<script>alert(1)</script>",))._repr_html_()
    assert "<script>" not in found and "&lt;script&gt;" in found


def report() -> RunReport:
    return RunReport(
        statement=statement(),
        asked=3,
        answered=2,
        refused=1,
        released={"0": 1, "1": 1},
        settings={"n_teachers": 5},
        versions={"tacit": "0"},
    )


def test_statement_and_report_go_through_json():
    assert PrivacyStatement.from_dict(json.loads(json.dumps(statement().to_dict()))) == statement()
    assert RunReport.from_json(report().to_json()) == report()


@pytest.mark.parametrize("wrong", ["[]", '{"format_version": 99}', "{}"])
def test_another_format_is_refused(wrong):
    with pytest.raises(InvalidArgument, match="format"):
        RunReport.from_json(wrong)


def test_the_report_says_what_was_asked_and_refused():
    found = str(report())
    assert "3 asked, 2 answered, 1 refused" in found
    assert "n_teachers = 5" in found
    assert "What is protected" in report()._repr_html_()


def test_both_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        statement().epsilon = 0.1
    with pytest.raises(dataclasses.FrozenInstanceError):
        report().asked = 7
