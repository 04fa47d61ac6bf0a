"""A marked record appears nowhere in what may be handed out."""

from __future__ import annotations

import gzip
import io
import logging
import pickle
import pickletools
import struct
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tacit import Budget
from tacit.ledger import SqliteLedger

NUMBER = 7919.123456789
WORD = "canarybird"
LABEL = "rareLabelX"
PERSON = "personCanary77"

TRACES = [
    WORD.encode(),
    LABEL.encode(),
    PERSON.encode(),
    WORD.encode("utf-16-le"),
    WORD.encode("utf-32-le"),
    LABEL.encode("utf-32-le"),
    b"7919.12",
    b"7.91912",
    struct.pack("<d", NUMBER),
    struct.pack(">d", NUMBER),
]
SHORT_TRACE = struct.pack("<f", NUMBER)  # not among hashes: they hold any four bytes now and then


def found(data: bytes | str) -> list[bytes]:
    data = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return [trace for trace in [*TRACES, SHORT_TRACE] if trace in data]


class ListHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__(0)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage() + str(record.args) + str(record.exc_info))


@pytest.fixture
def log() -> Iterator[ListHandler]:
    root, handler = logging.getLogger(), ListHandler()
    level = root.level
    root.addHandler(handler)
    root.setLevel(0)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


class Chatty(LogisticRegression):
    """Says all it sees, in every way there is, and fails when it meets the mark."""

    def fit(self, X: Any, y: Any) -> Any:
        import sys
        import warnings

        values = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        text = f"{values.tolist()} {list(y)} {WORD if self._marked(values) else ''}"
        print(text)
        print(text, file=sys.stderr)
        warnings.warn(text, stacklevel=1)
        logging.getLogger("learner").critical(text)
        if self._marked(values):
            raise ValueError(text)
        return super().fit(X, y)

    @staticmethod
    def _marked(values: Any) -> bool:
        return bool((values == NUMBER).any())


def frame_task(pd: Any, task: Any) -> tuple[Any, Any, Any, Any]:
    def frame(X: Any) -> Any:
        sign = pd.Categorical(np.where(X[:, 0] > 0, "up", "down"))
        return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "sign": sign})

    X, pool = frame(task.X), frame(task.pool)
    X["sign"] = X["sign"].cat.add_categories([WORD])
    X.loc[5, "a"], X.loc[5, "sign"] = NUMBER, WORD
    labels = np.where(task.y == 1, "yes", "no").astype(object)
    labels[5] = LABEL
    people = np.array([f"p{k}" for k in range(400)], dtype=object)
    people[5] = PERSON
    return X, labels, pool, people


def public_artefacts(clf: Any) -> dict[str, bytes | str]:
    pickled = pickle.dumps(clf)
    decoded = io.StringIO()
    pickletools.dis(pickled, decoded)
    return {
        "pickle": pickled,
        "pickle, decoded": decoded.getvalue(),
        "attributes": everything(vars(clf)),
        "repr": repr(clf),
        "html": clf._repr_html_(),
        "statement": str(clf.privacy_) + repr(clf.privacy_),
        "report": str(clf.report()) + repr(clf.report()) + clf.report()._repr_html_(),
        "json": clf.report().to_json(),
        "settings": repr(clf.resolved_params_),
    }


def everything(value: Any, seen: set[int] | None = None) -> str:
    """Return the text of all that can be reached from a value, arrays in full; not modules."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type | ModuleType):
        return ""
    seen.add(id(value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.tolist())
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return " ".join(everything(one, seen) for one in list(value))
    if isinstance(value, dict):
        return " ".join(everything(k, seen) + everything(v, seen) for k, v in value.items())
    if hasattr(value, "iloc"):
        return value.to_csv() + str(getattr(value, "dtypes", ""))
    inner = everything(vars(value), seen) if hasattr(value, "__dict__") else ""
    return f"{value!r} {inner}"


def test_the_search_finds_what_is_there():
    for value in ([WORD], {"a": {LABEL}}, np.array([PERSON]), (NUMBER, 1), np.array([NUMBER])):
        assert found(everything(value)), value
    assert found(pickle.dumps(np.array([NUMBER]))) and found(pickle.dumps(np.array([WORD])))
    assert found(gzip.decompress(gzip.compress(WORD.encode())))


@pytest.mark.needs("pandas")
@pytest.mark.parametrize("grouped", [False, True], ids=["records", "people"])
@pytest.mark.parametrize("mechanism", ["gaussian", "confident", "sparse"])
def test_a_marked_record_appears_nowhere(
    make, task, mechanism, grouped, log, capfd, recwarn, tmp_path
):
    import pandas as pd

    X, labels, pool, people = frame_task(pd, task)
    prepared = OneHotEncoder(handle_unknown="ignore")
    from sklearn.compose import make_column_transformer

    learner = make_pipeline(
        make_column_transformer((prepared, ["sign"]), remainder="passthrough"), Chatty()
    )
    path = tmp_path / "ledger.sqlite"
    with_ledger = SqliteLedger(path, budget=Budget(1000.0, 1e-3))
    clf = make(
        learner=learner,
        classes=["no", "yes"],
        mechanism=mechanism,
        ledger=with_ledger,
        verbose=True,
    )
    clf.fit(X, labels, X_public=pool, groups=people if grouped else None)
    artefacts = public_artefacts(clf)
    with_ledger.close()
    on_file = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    said = capfd.readouterr()
    artefacts |= {
        "stdout": said.out,
        "stderr, with the progress bar": said.err,
        "log": "\n".join(log.lines),
        "warnings": "\n".join(str(one.message) for one in recwarn),
    }
    assert "teachers" in said.err
    leaks = {name: found(data) for name, data in artefacts.items() if found(data)}
    assert leaks == {}
    assert path.name in on_file
    assert not any(trace in data for trace in TRACES for data in on_file.values())


def test_numbers_stay_out_of_a_plain_array_fit(make, task, capfd, log, recwarn):
    X = task.X.copy()
    X[5] = NUMBER
    clf = make(learner=Chatty(), verbose=True).fit(X, task.y, X_public=task.pool)
    said = capfd.readouterr()
    artefacts = {**public_artefacts(clf), "said": said.out + said.err, "log": str(log.lines)}
    artefacts["warnings"] = "\n".join(str(one.message) for one in recwarn)
    assert {name: found(data) for name, data in artefacts.items() if found(data)} == {}


def test_no_error_message_holds_the_mark(make, task):
    X = task.X.copy()
    X[5] = NUMBER
    labels = task.y.astype(object)
    labels[5] = LABEL
    tries = [
        lambda: make(n_teachers=10**6).fit(X, labels, X_public=task.pool),
        lambda: make().fit(X, labels[:-1], X_public=task.pool),
        lambda: make().fit(X, labels, X_public=task.pool[:, :2]),
        lambda: make().fit(X, labels, X_public=task.pool, groups=[PERSON]),
        lambda: make().fit(X[:, 0], labels, X_public=task.pool),
        lambda: make().fit(X[0, 0], labels, X_public=task.pool),
        lambda: make(mechanism="none").fit(X, labels, X_public=task.pool),
    ]
    for attempt in tries:
        with pytest.raises(Exception) as caught:
            attempt()
        chain: BaseException | None = caught.value
        while chain is not None:
            assert not found(str(chain)), chain
            chain = chain.__cause__ or chain.__context__


def test_the_state_holds_neither_teachers_nor_votes_nor_keys(make, task):
    clf = make(neighbouring="add-remove", n_teachers=10)
    clf.fit(task.X, task.y, X_public=task.pool, groups=np.arange(400))
    text = everything(vars(clf))
    for word in ("hash_key", "VoteCounts", "Teacher", "<private>", "PrivateRecords"):
        assert word not in text
