"""The report as a page: what it says, that it needs nothing else, that no name can break it."""

from __future__ import annotations

import copy
import html
import json
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from tacit import Corrections, PATEClassifier, Votes, load_student, save_student
from tacit.accounting.budget import Neighbouring
from tacit.errors import InvalidArgument, PersistenceError, TacitError
from tacit.persistence import saved_report
from tacit.report import PrivacyStatement, PublicCheck, RunReport
from tacit.students.active.curve import LearningCurve


class Page(HTMLParser):
    """Collects the text, the tags and the attributes, and checks that tags are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self._open or self._open[-1] != "style":
            self.words.append(data)


def statement(**changes: Any) -> PrivacyStatement:
    fields: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "spent_epsilon": 0.25,
        "neighbouring": Neighbouring.REPLACE,
        "unit": "record",
        "mechanism": "GaussianVote",
        "accountant": "exact composition",
        "questions": 30,
        "assumptions": ("The pool is public.", "Nobody has two records."),
        "secure": True,
        "planned": 40,
    }
    return PrivacyStatement(**{**fields, **changes})


def report(**changes: Any) -> RunReport:
    fields: dict[str, Any] = {
        "statement": statement(),
        "asked": 30,
        "answered": 27,
        "refused": 3,
        "released": {"no": 20, "yes": 7},
        "settings": {"n_teachers": 50, "release": "label", "query": "Margin()"},
        "versions": {"tacit": "9.9", "numpy": "2"},
        "batches": (10, 20),
        "command": "tacit fit flu.csv",
        "call": "PATEClassifier(learner=learner)",
        "curve": LearningCurve((10, 30), (0.75, float("nan")), (1.0, 0.9), (0.6, 0.8)),
        "check": PublicCheck(("no", "yes"), ((40, 10), (5, 44)), unknown=1),
    }
    return RunReport(**{**fields, **changes})


def frontier(**changes: Any) -> dict[str, Any]:
    def line(*values: float) -> list[Any]:
        return [{"predicted": {"value": value}} for value in values]

    fields = {
        "delta": 1e-5,
        "baseline": 0.6,
        "epsilons": [0.5, 2.0],
        "lines": {"gaussian": line(0.7, 0.8), "laplace": line(0.65, 0.75)},
        "remarks": ["Nothing works below 0.1."],
    }
    return {**fields, **changes}


def test_it_says_everything_that_the_report_knows() -> None:
    found = Page(report().to_html(frontier=frontier())).text
    for words in (
        "(1, 1e-05) differential privacy",
        "30 public points asked about, 27 answers, 3 refusals",
        "All values of one record",
        "a factor of at most 2.72",
        "\u03b5 = 1, \u03b4 = 1e-05",
        "one of which has one record replaced by another's",
        "fixed before the first question",
        "would have cost epsilon 0.25",
        "a reading, not a guarantee",
        "10 of 40 planned questions were not asked",
        "The pool is public.",
        "27 (90%)",
        "20 (74%)",
        "In 2 batches of 10 to 20 questions, ended by: all planned questions were asked",
        "next labels foreseen",
        "On 100 labelled public points the student is right on 84.0%",
        "The labels of 1 of them are none of the classes",
        "Lines are predictions from public evidence. The circle is the accuracy",
        "guessing one class",
        "Nothing works below 0.1.",
        "tacit fit flu.csv",
        "PATEClassifier(learner=learner)",
        "Privacy noise is never seeded",
        "tacit 9.9",
    ):
        assert words in found, words


def test_parts_that_are_not_known_are_left_out() -> None:
    page = report(command="", curve=None, check=None, batches=(30,)).to_html()
    for words in ("How the student grew", "Predicted against actual", "frontier", "The command"):
        assert words not in Page(page).text


def test_a_run_without_known_accuracy_is_marked_without_a_circle() -> None:
    page = report(check=None).to_html(frontier=frontier(delta=1e-6))
    assert 'class="here"' not in page and 'class="mark"' in page
    assert "Its accuracy is not known" in page
    assert "The frontier was drawn for delta 1e-06, this run has delta 1e-05" in page


def test_test_noise_stands_above_everything() -> None:
    found = Page(report(statement=statement(secure=False)).to_html()).text
    assert found.index("Insecure: no guarantee") < found.index("What is protected")
    assert "INSECURE, NO GUARANTEE" in found


def test_it_is_one_file_without_scripts_or_addresses() -> None:
    page = report().to_html(frontier=frontier())
    found = Page(page)
    assert not found.tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not found.attributes & {"src", "href", "srcset", "action"}
    assert not [name for name in found.attributes if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|@font-face", page)
    assert "default-src 'none'" in page


HOSTILE = [
    "<script>alert(1)</script>",
    "</title></style><img src=x onerror=alert(1)>",
    "\"' onload='alert(1)",
    "{title}{0}%s",
    "]]><!--",
    "\x00\x1b[2J\u202e\ud800",
    "x" * 5000,
    "",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text(name: str) -> None:
    made = report(
        released={name: 3, "other": 4},
        settings={name: name, "release": name, "n_teachers": name},
        versions={"tacit": name},
        command=name,
        stopped=name,
        statement=statement(mechanism=name, accountant=name, assumptions=(name,)),
        check=PublicCheck((name, "b"), ((1, 2), (3, 4))),
    )
    lines = {name: [{"predicted": {"value": 0.5}}] * 2}
    page = made.to_html(frontier=frontier(lines=lines, remarks=[name]))
    found = Page(page)
    assert not found.tags & {"script", "img"}
    assert not [attribute for attribute in found.attributes if attribute.startswith("on")]
    page.encode()  # no lone surrogate is left
    assert not set(page) & {"\x00", "\x1b", "\u202e"}
    assert RunReport.from_json(made.to_json()).to_html() == made.to_html()


def test_many_classes_and_no_answers_can_be_shown() -> None:
    names = tuple(f"class {number}" for number in range(40))
    counts = tuple(tuple(int(i == j) for j in range(40)) for i in range(40))
    many = report(released=dict.fromkeys(names, 1), check=PublicCheck(names, counts))
    assert "most often taken for" in Page(many.to_html()).text
    empty = report(
        asked=0, answered=0, refused=0, released={"a": 0, "b": 0}, curve=None, batches=(),
        statement=statement(epsilon=0.0, spent_epsilon=0.0),
        check=PublicCheck(("a", "b"), ((0, 0), (0, 0))),
    )  # fmt: skip
    assert "0 public points" in Page(empty.to_html(frontier=frontier())).text


# ---- through JSON -----------------------------------------------------------------------------


def test_the_page_is_the_same_from_json() -> None:
    made = report()
    again = RunReport.from_json(made.to_json())
    assert again.to_html() == made.to_html()
    assert str(again) == str(made)
    assert again.check == made.check and again.batches == (10, 20)


def test_a_report_from_before_there_were_curves_is_read() -> None:
    fields = json.loads(report().to_json())
    for name in ("curve", "check", "command", "batches", "stopped"):
        del fields[name]
    assert RunReport.from_json(json.dumps(fields)).curve is None


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    entries = (
        value.items() if isinstance(value, dict)
        else enumerate(value) if isinstance(value, list) else ()
    )  # fmt: skip
    return [path, *(place for key, entry in entries for place in _places(entry, (*path, key)))]


@settings(max_examples=150)
@given(st.data())
def test_garbled_reports_are_refused_or_shown_but_never_crash(data: st.DataObject) -> None:
    fields: Any = {"r": json.loads(report().to_json()), "f": frontier()}
    place = data.draw(st.sampled_from([path for path in _places(fields) if len(path) > 1]))
    changed = copy.deepcopy(fields)
    parent = changed
    for step in place[:-1]:
        parent = parent[step]
    if data.draw(st.booleans()):
        parent[place[-1]] = data.draw(JUNK)
    else:
        del parent[place[-1]]
    try:
        page = RunReport.from_json(json.dumps(changed["r"])).to_html(frontier=changed["f"])
    except InvalidArgument as error:
        assert "\n" not in str(error)
    else:
        Page(page)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", '{"format_version": true}'])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="`text` must be a report"):
        RunReport.from_json(text)


@pytest.mark.parametrize(
    "wrong",
    [[], {}, "x", frontier(epsilons=[2.0, 0.5]), frontier(epsilons=[0.5]), frontier(baseline=2),
     frontier(lines={}), frontier(delta=0), frontier(epsilons=[0, 1])],
)  # fmt: skip
def test_what_is_no_frontier_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidArgument, match="`frontier` must be"):
        report().to_html(frontier=wrong)


# ---- files ------------------------------------------------------------------------------------


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path: Any) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(InvalidArgument):
        report().save_html(path, frontier={})
    assert path.read_text() == "old"
    report().save_html(path)
    assert path.read_text() == report().to_html()
    report().save_json(tmp_path / "report.json")
    assert str(RunReport.from_json((tmp_path / "report.json").read_text())) == str(report())
    with pytest.raises(PersistenceError, match="could not be written"):
        report().save_html(tmp_path / "nowhere" / "report.html")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["report.html", "report.json"]


# ---- from a fit -------------------------------------------------------------------------------

MARK = 7919.123456789
LABEL = "rareLabelX"


@pytest.fixture(scope="module")
def fitted() -> Any:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 2))
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    X[5, 1], y[5] = MARK, LABEL
    people = np.array([f"person-{number}" for number in range(2000)], dtype=object)
    people[5] = "personCanary77"
    clf = PATEClassifier(
        LogisticRegression(), classes=["no", "yes"], random_state=0, epsilon=2.0, method=Votes()
    )
    return clf.fit(X, y, X_public=rng.normal(size=(60, 2)), groups=people)


def test_a_marked_record_is_nowhere_on_the_page(fitted: Any) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 2))
    page = fitted.report(X, np.where(X[:, 0] > 0, "yes", "no"), curve=True).to_html()
    for trace in (LABEL, "personCanary77", "7919", "person-"):
        assert trace not in page
    assert "the student is right on" in page and "How the student grew" in page


def test_only_released_and_public_numbers_are_on_the_page(fitted: Any) -> None:
    fields = set(fitted.report(curve=True).to_dict())
    assert fields == {
        "format_version", "statement", "asked", "answered", "refused", "released", "settings",
        "versions", "batches", "stopped", "command", "call", "curve", "check", "signal",
    }  # fmt: skip
    released = fitted.released_.labels
    assert fitted.report().released == {
        "no": int((released == 0).sum()), "yes": int((released == 1).sum())
    }  # fmt: skip


def test_the_check_counts_what_the_model_says(fitted: Any, tmp_path: Any) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, "yes", "perhaps")
    check = fitted.report(X, y).check
    says, actual = fitted.predict(X), y
    assert check.counts[0] == (0, 0)
    assert check.counts[1] == tuple(
        int(((says == name) & (actual == "yes")).sum()) for name in ("no", "yes")
    )
    assert check.unknown == int((y == "perhaps").sum())
    assert fitted.report().check is None
    save_student(fitted, tmp_path / "model")
    assert load_student(tmp_path / "model").report(X, y).check == check
    for model in (fitted, load_student(tmp_path / "model")):
        with pytest.raises(InvalidArgument, match="`y` must hold one label"):
            model.report(X)
        with pytest.raises(InvalidArgument, match="`y` must hold one label"):
            model.report(X, y[:3])


def test_a_saved_student_gives_its_report_without_being_made(fitted: Any, tmp_path: Any) -> None:
    path = tmp_path / "model.tacit"
    save_student(fitted, path)
    assert saved_report(path) == fitted.report()
    line, _, _ = path.read_bytes().partition(b"\n")
    path.write_bytes(line.replace(b"student", b"ensemble"))
    with pytest.raises(TacitError):
        saved_report(path)


@pytest.mark.parametrize(
    "method",
    [
        "auto",
        Votes(n_questions=20, query="margin", n_batches=3, release="label"),
        Votes("laplace", query=None, refusals="random"),
        Corrections(rounds=3, shard_size=40),
    ],
)
def test_the_printed_call_makes_the_same_run(method: Any) -> None:
    rng = np.random.default_rng(3)
    X, pool, learner = rng.normal(size=(2000, 2)), rng.normal(size=(60, 2)), LogisticRegression()
    y = np.where(X[:, 0] > 0, "yes", "no")
    classes = np.array(["no", "yes"])
    first = PATEClassifier(learner, classes=classes, epsilon=2.0, method=method, random_state=0)
    first.fit(X, y, X_public=pool)
    (printed,) = re.findall(
        r"<pre>(PATEClassifier\(.*?)</pre>", first.report().to_html(), re.DOTALL
    )
    names = {
        "PATEClassifier": PATEClassifier,
        "Votes": Votes,
        "Corrections": Corrections,
        "learner": learner,
        "classes": classes,
    }
    again = eval(html.unescape(printed), names)
    again.set_params(random_state=0).fit(X, y, X_public=pool)
    assert again.resolved_params_ == first.resolved_params_
