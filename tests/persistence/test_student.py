"""A student's file: it gives the same model again, or refuses."""

from __future__ import annotations

import io
import json
import pickle
import resource
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tacit
from tacit import PATEClassifier, Votes, load_student, save_student
from tacit.errors import (
    DamagedFile,
    InvalidArgument,
    PersistenceError,
    SavedFormatError,
    UntrustedTypes,
)
from tacit.persistence import PublicModel, envelope, files, models

TREE = "sklearn.tree._tree.Tree"


def table(seed: int, n: int, width: int = 4) -> np.ndarray:
    """Return made-up points."""
    return np.random.default_rng(seed).normal(size=(n, width))


def saved(clf, tmp_path: Path) -> Path:
    path = tmp_path / "student.tacit"
    save_student(clf, path)
    return path


def assert_same(model: PublicModel, clf, X) -> None:
    assert (model.predict(X) == clf.predict(X)).all()
    assert model.predict(X).dtype == clf.predict(X).dtype
    assert (model.classes_ == clf.classes_).all()
    assert model.privacy_ == clf.privacy_
    assert model.report().to_json() == clf.report().to_json()
    assert str(model.report()) == str(clf.report())
    assert hasattr(model, "predict_proba") == hasattr(clf, "predict_proba")
    if hasattr(clf, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), clf.predict_proba(X))


# ---- round trips --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"classes": [0, 1]},
        {"classes": [False, True]},
        {"classes": [1.0, 2.0]},
        {"classes": ["x", "y", "z"]},
        {"student": LogisticRegression()},
        {"student": RidgeClassifier()},
        {"representation": StandardScaler()},
        {"representation": StandardScaler(), "student": LogisticRegression()},
    ],
    ids=repr,
)
def test_a_student_is_the_same_after_loading(settings, tmp_path, fitted):
    clf = fitted(**settings)
    assert_same(load_student(saved(clf, tmp_path)), clf, table(9, 300))


def test_a_loaded_student_can_be_saved_again(clf, tmp_path):
    first = load_student(saved(clf, tmp_path))
    again = load_student(saved(first, tmp_path))
    assert_same(again, clf, table(9, 50))


@pytest.mark.needs("pandas")
def test_data_frames_keep_names_and_categories(tmp_path):
    import pandas as pd

    def frame(seed, n):
        rng = np.random.default_rng(seed)
        return pd.DataFrame(
            {
                "age": rng.integers(18, 80, n),
                "income": rng.normal(size=n),
                "town": rng.choice(["here", "there"], n),
                "kind": pd.Categorical(rng.choice(["u", "v"], n), categories=["v", "u", "w"]),
            }
        )

    X = frame(0, 2000)
    y = (X["age"] > 50).astype(int).to_numpy()
    clf = PATEClassifier(
        DecisionTreeClassifier(), epsilon=2.0, delta=1e-5, classes=[0, 1], representation=None,
        method=Votes(),
    )  # fmt: skip
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    clf.learner = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["town", "kind"]), remainder="passthrough"
        ),
        DecisionTreeClassifier(max_depth=3),
    )
    clf.fit(X, y, X_public=frame(1, 200))
    model = load_student(saved(clf, tmp_path))
    assert_same(model, clf, frame(2, 100))
    assert list(model.feature_names_in_) == ["age", "income", "town", "kind"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(2, 100).rename(columns={"age": "years"}))


def test_texts_stay_texts(tmp_path):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    words = np.array(["sun rain", "rain wind", "wind snow", "snow sun", "ice sun"])
    rng = np.random.default_rng(0)
    picks = rng.integers(5, size=1500)
    clf = PATEClassifier(
        make_pipeline(TfidfVectorizer(), LogisticRegression()), classes=[0, 1], epsilon=2.0,
        method=Votes(),
    )  # fmt: skip
    clf.fit(words[picks].tolist(), (picks > 2).astype(int), X_public=words.tolist() * 20)
    assert_same(load_student(saved(clf, tmp_path)), clf, words.tolist())


def test_a_public_model_behaves_like_an_estimator(clf, tmp_path):
    model = load_student(saved(clf, tmp_path))
    X = table(9, 100)
    assert clone(model) is model
    assert 0 <= model.score(X, np.where(X[:, 0] > 0, "yes", "no")) <= 1
    assert repr(model).startswith("PublicModel(Pipeline, classes=['no', 'yes'], epsilon=")
    assert "differential privacy" in model._repr_html_()
    assert pickle.loads(pickle.dumps(model)).predict(X).shape == (100,)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])


def test_the_file_starts_with_what_it_is_and_a_readable_manifest(clf, tmp_path):
    first, second = saved(clf, tmp_path).read_bytes().split(b"\n")[:2]
    assert first.startswith(f"tacit-student format=1 tacit={tacit.__version__} sha256=".encode())
    told = json.loads(second)
    assert told["format_version"] == 1
    assert told["classes"]["values"] == ["no", "yes"]
    assert told["n_features"] == 4
    assert told["privacy"]["epsilon"] == clf.privacy_.epsilon


def test_nothing_of_the_learner_or_the_records_is_in_the_file(tmp_path):
    class_name = "LogisticRegression"
    X = table(0, 3000)
    X[17, 2] = 987654.321
    clf = PATEClassifier(LogisticRegression(C=0.123456789), classes=["no", "yes"], method=Votes())
    clf.fit(X, np.where(X[:, 0] > 0, "yes", "no"), X_public=table(1, 150))
    data = saved(clf, tmp_path).read_bytes()
    start = data.index(b"PK")
    with zipfile.ZipFile(io.BytesIO(data[start:])) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    for text in (class_name.encode(), b"0.123456789", b"987654", np.float64(987654.321).tobytes()):
        assert text not in data + content


def test_another_process_loads_it_from_the_file_alone(clf, tmp_path):
    path = saved(clf, tmp_path)
    code = (
        "import sys; from tacit import load_student; m = load_student(sys.argv[1]);"
        "print(m.predict([[5.0, 5.0, 0.0, 0.0]])[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ("no", "yes")


# ---- trust --------------------------------------------------------------------------------------


def test_trees_need_the_users_word(tmp_path, fitted):
    clf = fitted(student=RandomForestClassifier(3))
    path = saved(clf, tmp_path)
    with pytest.raises(UntrustedTypes) as refusal:
        load_student(path)
    assert f"pass trusted=['{TREE}']" in str(refusal.value)
    model = load_student(path, trusted=[TREE])
    assert_same(model, clf, table(9, 100))
    assert model.trusts_ == (TREE,)
    assert load_student(path, trusted=TREE).trusts_ == (TREE,)
    with pytest.raises(InvalidArgument, match="by name"):
        load_student(path, trusted=[DecisionTreeClassifier])


def test_a_loaded_student_says_what_was_trusted(clf, tmp_path):
    assert set(load_student(saved(clf, tmp_path)).trusts_) <= set(models.OWN_TYPES)


def hostile(tmp_path: Path, clf, node: dict) -> Path:
    """Return a file with a valid seal and manifest whose model is one hand-made node."""
    path = saved(clf, tmp_path)
    manifest = path.read_bytes().split(b"\n")[1]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        schema = {**node, "protocol": 2, "_skops_version": "0.16.0"}
        archive.writestr("schema.json", json.dumps(schema))
    path.write_bytes(envelope.seal("student", 1, manifest + b"\n" + buffer.getvalue()))
    return path


@pytest.mark.parametrize(
    "loader", ["ConstructorFromReduceNode", "ObjectNode", "FunctionNode", "TypeNode", "MethodNode"]
)
@pytest.mark.parametrize("name", ["os.system", "posix.system", "builtins.eval"])
def test_a_malicious_file_runs_nothing(tmp_path, clf, loader, name):
    marker = tmp_path / "ran"
    module, _, function = name.rpartition(".")
    command = f"touch {marker}" if "eval" not in name else f"open({str(marker)!r}, 'w')"
    argument = {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(command),
        "is_json": True,
    }
    arguments = {
        "__class__": "tuple",
        "__module__": "builtins",
        "__loader__": "TupleNode",
        "content": [argument],
    }
    node = {
        "__class__": function,
        "__module__": module,
        "__loader__": loader,
        "content": arguments,
    }
    path = hostile(tmp_path, clf, node)
    with pytest.raises((UntrustedTypes, DamagedFile)):
        load_student(path)
    assert not marker.exists()


class Evil:
    """Would run a command when unpickled."""

    marker = ""

    def __reduce__(self):
        import os

        return os.system, (f"touch {self.marker}",)


def test_a_pickle_is_not_read(tmp_path):
    Evil.marker = str(tmp_path / "ran")
    path = tmp_path / "student.tacit"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(SavedFormatError, match="was not saved by tacit as student"):
        load_student(path)
    content = b"{}\n" + pickle.dumps(Evil())
    path.write_bytes(envelope.seal("student", 1, content))
    with pytest.raises(DamagedFile):
        load_student(path)
    assert not (tmp_path / "ran").exists()


def test_a_file_that_claims_a_huge_size_is_refused(tmp_path, clf, monkeypatch):
    path = saved(clf, tmp_path)
    monkeypatch.setattr(models, "MOST_BYTES", 100)
    with pytest.raises(DamagedFile):
        load_student(path)


# ---- damage -------------------------------------------------------------------------------------


@pytest.mark.faults
def test_no_changed_byte_goes_unseen(clf, tmp_path):
    path = saved(clf, tmp_path)
    good = path.read_bytes()
    places = {*range(0, 160), *range(160, len(good), max(1, len(good) // 200)), len(good) - 1}
    for place in places:
        for mask in (0x01, 0x80):
            bad = bytearray(good)
            bad[place] ^= mask
            path.write_bytes(bytes(bad))
            with pytest.raises((DamagedFile, SavedFormatError)):
                load_student(path)


@pytest.mark.faults
def test_no_missing_or_added_end_goes_unseen(clf, tmp_path):
    path = saved(clf, tmp_path)
    good = path.read_bytes()
    for size in (0, 1, 20, 100, 150, len(good) // 2, len(good) - 1):
        path.write_bytes(good[:size])
        with pytest.raises((DamagedFile, SavedFormatError)):
            load_student(path)
    path.write_bytes(good + b"\0")
    with pytest.raises(DamagedFile, match="checksum"):
        load_student(path)


def test_missing_and_foreign_files_are_named(tmp_path):
    with pytest.raises(PersistenceError, match="There is no file .*absent"):
        load_student(tmp_path / "absent")
    with pytest.raises(PersistenceError, match="cannot be read"):
        load_student(tmp_path)
    other = tmp_path / "other"
    other.write_bytes(envelope.seal("ensemble", 1, b""))
    with pytest.raises(SavedFormatError, match="was not saved by tacit as student"):
        load_student(other)


def test_a_manifest_without_an_entry_is_damage(clf, tmp_path):
    path = saved(clf, tmp_path)
    content = path.read_bytes().split(b"\n", 1)[1]
    line, _, model = content.partition(b"\n")
    for name in ("classes", "privacy", "report", "schema"):
        told = json.loads(line)
        del told[name]
        path.write_bytes(envelope.seal("student", 1, json.dumps(told).encode() + b"\n" + model))
        with pytest.raises(DamagedFile, match="manifest"):
            load_student(path)
    path.write_bytes(envelope.seal("student", 1, b"[" * 100_000 + b"\n" + model))
    with pytest.raises(DamagedFile, match="not JSON"):
        load_student(path)


# ---- formats ------------------------------------------------------------------------------------


def test_another_format_says_which_version_to_install(tmp_path):
    path = tmp_path / "later"
    path.write_bytes(envelope.seal("student", 7, b"").replace(tacit.__version__.encode(), b"9.9.9"))
    with pytest.raises(SavedFormatError, match="format 7, written by tacit 9.9.9.*Install"):
        load_student(path)


# ---- writing ------------------------------------------------------------------------------------


def test_only_a_fitted_classifier_can_be_saved(tmp_path):
    for unfitted in (PATEClassifier(LogisticRegression()), LogisticRegression(), None):
        with pytest.raises(InvalidArgument, match="fitted PATEClassifier"):
            save_student(unfitted, tmp_path / "student")
    assert list(tmp_path.iterdir()) == []


class Unsavable(LogisticRegression):
    """A student with something no file can hold."""

    def fit(self, X, y):
        super().fit(X, y)
        self.hook_ = lambda value: value
        return self


def test_a_student_that_cannot_be_saved_leaves_the_old_file(clf, tmp_path, fitted):
    path = saved(clf, tmp_path)
    before = path.read_bytes()
    with pytest.raises(PersistenceError, match="Unsavable cannot be saved"):
        save_student(fitted(student=Unsavable()), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.faults
@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_failing_disk_leaves_the_old_file(clf, tmp_path, monkeypatch, call):
    path = saved(clf, tmp_path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, call, fail)
    with pytest.raises(PersistenceError, match="No space left on device"):
        save_student(clf, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.faults
def test_a_full_disk_leaves_the_old_file(clf, tmp_path):
    path = saved(clf, tmp_path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
        with pytest.raises(PersistenceError, match="could not be written"):
            save_student(clf, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_the_file_stays_a_link(clf, tmp_path):
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "student-7")
    save_student(clf, link)
    assert link.is_symlink()
    assert load_student(tmp_path / "student-7").privacy_ == clf.privacy_
