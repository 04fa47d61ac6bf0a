"""An ensemble's directory: the same votes again, closed to others, whole or not there."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tacit.errors import (
    DamagedFile,
    ExposedFiles,
    InvalidArgument,
    PersistenceError,
    SavedFormatError,
    UntrustedTypes,
)
from tacit.files import atomic
from tacit.persistence import ensemble as module
from tacit.persistence import envelope, files, load_ensemble, save_ensemble
from tacit.teachers import equal_split, train_teachers
from tacit.teachers.vote import count_one_by_one


def table(seed: int, n: int, width: int = 4) -> np.ndarray:
    """Return made-up points."""
    return np.random.default_rng(seed).normal(size=(n, width))


def saved(ensemble, tmp_path: Path) -> Path:
    save_ensemble(ensemble, tmp_path / "teachers")
    return tmp_path / "teachers"


def assert_same_votes(loaded, ensemble, X) -> None:
    """Together and one by one: two different ways through the models."""
    assert loaded.n_teachers == ensemble.n_teachers
    np.testing.assert_array_equal(
        loaded.count(X).private_array(), ensemble.count(X).private_array()
    )
    for one, other in zip(loaded.private_teachers(), ensemble.private_teachers(), strict=True):
        np.testing.assert_array_equal(
            count_one_by_one([one], X, len(ensemble.classes)),
            count_one_by_one([other], X, len(ensemble.classes)),
        )
        assert (one.constant, one.events) == (other.constant, other.events)
    assert loaded.diagnostics().reveal_unsafe() == ensemble.diagnostics().reveal_unsafe()


class Plain:
    """A learner without scikit-learn."""

    def fit(self, X, y):
        values, counts = np.unique(y, return_counts=True)
        self.most = values[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.most)


class Unsavable(Plain):
    """A learner with something no file can hold."""

    def fit(self, X, y):
        self.hook = lambda value: value
        return super().fit(X, y)


LEARNERS = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LinearSVC(),
    LinearSVC(fit_intercept=False),
    SGDClassifier(),
    Perceptron(),
    RidgeClassifier(),
    GaussianNB(),
    DecisionTreeClassifier(max_depth=3),
    RandomForestClassifier(3),
    HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2),
    KNeighborsClassifier(3),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("classes", [(0, 1), ("a", "b", "c"), (2, 0, 1)], ids=repr)
def test_votes_are_the_same_after_loading(learner, classes, tmp_path, trained):
    ensemble = trained(learner, classes=classes)
    loaded = load_ensemble(saved(ensemble, tmp_path))
    assert_same_votes(loaded, ensemble, table(9, 40))
    assert loaded.classes.labels.dtype == ensemble.classes.labels.dtype
    assert loaded.classes.labels.tolist() == list(classes)


def test_linear_models_are_stacked_in_one_small_file(linear, tmp_path):
    path = saved(linear, tmp_path)
    assert {entry.name for entry in path.iterdir()} == {
        "MANIFEST",
        "learner.skops",
        "linear.npz",
        "teachers.npz",
    }
    assert (path / "linear.npz").stat().st_size < 5000


def test_models_are_spread_over_files(tmp_path, monkeypatch, trained):
    monkeypatch.setattr(module, "MODELS_PER_FILE", 4)
    ensemble = trained(DecisionTreeClassifier(max_depth=2))
    path = saved(ensemble, tmp_path)
    assert len(list(path.glob("models-*.skops"))) == 3  # two of twelve are constant
    assert_same_votes(load_ensemble(path), ensemble, table(9, 30))


@pytest.mark.needs("xgboost")
def test_learners_with_labels_of_their_own_keep_their_decoding(tmp_path, trained):
    from xgboost import XGBClassifier

    ensemble = trained(XGBClassifier(n_estimators=2), n_teachers=4)
    path = saved(ensemble, tmp_path)
    with pytest.raises(UntrustedTypes, match="xgboost.sklearn.XGBClassifier"):
        load_ensemble(path)
    names = ["xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"]
    assert_same_votes(load_ensemble(path, trusted=names), ensemble, table(9, 30))


@pytest.mark.needs("pandas")
def test_data_frames_keep_columns_and_public_categories(tmp_path):
    import pandas as pd

    def frame(seed, n, categories):
        rng = np.random.default_rng(seed)
        kind = pd.Categorical(rng.choice(["u", "v"], n), categories=categories)
        return pd.DataFrame({"x": rng.normal(size=n), "kind": kind})

    X, like = frame(0, 120, ["u", "v"]), frame(1, 30, ["v", "u", "w"])
    shards = equal_split(120, 4, np.random.default_rng(0))
    learner = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    y = (X["x"] > 0).astype(int).to_numpy()
    ensemble = train_teachers(learner, X, y, shards, classes=[0, 1], seed=0, like=like)
    loaded = load_ensemble(saved(ensemble, tmp_path))
    assert_same_votes(loaded, ensemble, like)
    assert list(loaded._form.categories[1]) == ["v", "u", "w"]
    with pytest.raises(InvalidArgument, match="same columns"):
        loaded.count(like.rename(columns={"x": "y"}))


@pytest.mark.needs("pandas")
def test_stacked_models_keep_feature_names(tmp_path):
    import pandas as pd

    X = pd.DataFrame(table(0, 120), columns=list("abcd"))
    y = (X["a"] > 0).astype(int).to_numpy()
    shards = equal_split(120, 4, np.random.default_rng(0))
    ensemble = train_teachers(LogisticRegression(), X, y, shards, classes=[0, 1], seed=0)
    loaded = load_ensemble(saved(ensemble, tmp_path))
    assert_same_votes(loaded, ensemble, X)
    assert list(loaded.private_teachers()[0].model.feature_names_in_) == list("abcd")


# ---- trust --------------------------------------------------------------------------------------


def test_a_plain_class_needs_the_users_word(tmp_path, trained):
    path = saved(trained(Plain()), tmp_path)
    name = f"{Plain.__module__}.Plain"
    with pytest.raises(UntrustedTypes) as refusal:
        load_ensemble(path)
    assert f"trusted=['{name}']" in str(refusal.value)
    ensemble = trained(Plain())
    assert_same_votes(load_ensemble(path, trusted=[name]), ensemble, table(9, 30))


def test_a_learner_that_cannot_be_saved_leaves_nothing(tmp_path, trained):
    with pytest.raises(PersistenceError, match="Unsavable cannot be saved"):
        save_ensemble(trained(Unsavable()), tmp_path / "teachers")
    assert list(tmp_path.iterdir()) == []


class Slots:
    """A learner whose state is not in a dictionary."""

    __slots__ = ("most",)

    def fit(self, X, y):
        self.most = np.unique(y)[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.most)


def test_a_state_that_would_be_lost_is_refused(tmp_path, trained):
    with pytest.raises(PersistenceError, match="Slots cannot be saved"):
        save_ensemble(trained(Slots()), tmp_path / "teachers")
    assert list(tmp_path.iterdir()) == []


def test_no_array_can_bring_a_pickle(linear, tmp_path):
    path = saved(linear, tmp_path)
    np.savez(path / "teachers.npz", kind=np.array([print], dtype=object))
    reseal(path)
    with pytest.raises(DamagedFile, match="does not hold together"):
        load_ensemble(path)
    (path / "teachers.npz").write_bytes(b"PK, but no archive")
    reseal(path)
    with pytest.raises(DamagedFile, match="does not hold together"):
        load_ensemble(path)


# ---- permissions --------------------------------------------------------------------------------


def test_only_the_owner_can_read_what_is_written(linear, tmp_path):
    old = os.umask(0)
    try:
        path = saved(linear, tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in path.iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o750, 0o755, 0o777])
def test_an_open_directory_is_refused(linear, tmp_path, mode):
    path = saved(linear, tmp_path)
    path.chmod(mode)
    with pytest.raises(ExposedFiles, match=f"chmod 700 '{path}'"):
        load_ensemble(path)


@pytest.mark.parametrize("name", ["MANIFEST", "linear.npz", "teachers.npz", "learner.skops"])
@pytest.mark.parametrize("mode", [0o604, 0o620, 0o644])
def test_an_open_file_is_refused(linear, tmp_path, name, mode):
    path = saved(linear, tmp_path)
    (path / name).chmod(mode)
    with pytest.raises(ExposedFiles, match=f"chmod 600 .*{name}"):
        load_ensemble(path)


def test_files_of_another_user_are_refused(linear, tmp_path, monkeypatch):
    path = saved(linear, tmp_path)
    other = os.geteuid() + 1
    monkeypatch.setattr(files.os, "geteuid", lambda: other)
    with pytest.raises(ExposedFiles, match="belongs to another user"):
        load_ensemble(path)


# ---- damage -------------------------------------------------------------------------------------


def reseal(path: Path, **changes) -> None:
    """Write a manifest whose checksums hold for what is there now."""
    import hashlib

    told = json.loads(envelope.read((path / "MANIFEST").read_bytes(), "ensemble", where="").content)
    for name in told["files"]:
        if (path / name).exists():
            told["files"][name]["sha256"] = hashlib.sha256((path / name).read_bytes()).hexdigest()
    told.update(changes)
    (path / "MANIFEST").write_bytes(envelope.seal("ensemble", 1, json.dumps(told).encode()))


@pytest.mark.faults
def test_no_changed_byte_goes_unseen(linear, tmp_path):
    path = saved(linear, tmp_path)
    for file in sorted(path.iterdir()):
        good = file.read_bytes()
        for place in {*range(0, len(good), max(1, len(good) // 60)), len(good) - 1}:
            bad = bytearray(good)
            bad[place] ^= 0x04
            file.write_bytes(bytes(bad))
            with pytest.raises((DamagedFile, SavedFormatError)):
                load_ensemble(path)
        file.write_bytes(good)
    load_ensemble(path)


def test_missing_and_added_files_are_named(linear, tmp_path):
    path = saved(linear, tmp_path)
    (path / "notes").touch(mode=0o600)
    with pytest.raises(DamagedFile, match="has too many files: notes"):
        load_ensemble(path)
    (path / "notes").unlink()
    (path / "linear.npz").unlink()
    with pytest.raises(DamagedFile, match="lacks files: linear.npz"):
        load_ensemble(path)
    (path / "MANIFEST").unlink()
    with pytest.raises(SavedFormatError, match="has no MANIFEST"):
        load_ensemble(path)
    with pytest.raises(PersistenceError, match="There is no directory"):
        load_ensemble(tmp_path / "absent")
    (tmp_path / "file").touch()
    with pytest.raises(PersistenceError, match="cannot be opened"):
        load_ensemble(tmp_path / "file")


@pytest.mark.parametrize("name", ["../linear.npz", "/etc/passwd", "sub/linear.npz", "MANIFEST", ""])
def test_a_manifest_cannot_name_a_path_outside(linear, tmp_path, name):
    path = saved(linear, tmp_path)
    shutil.copy(path / "linear.npz", tmp_path / "linear.npz")
    reseal(path, files={name: {"sha256": "0" * 64, "bytes": 0}})
    with pytest.raises(DamagedFile, match="names a file that no ensemble has"):
        load_ensemble(path)


def test_a_link_out_of_the_directory_is_not_followed(linear, tmp_path):
    path = saved(linear, tmp_path)
    (path / "linear.npz").rename(tmp_path / "linear.npz")
    (path / "linear.npz").symlink_to(tmp_path / "linear.npz")
    with pytest.raises(DamagedFile, match="linear.npz"):
        load_ensemble(path)
    (path / "linear.npz").unlink()
    for make in (os.mkdir, os.mkfifo):
        make(path / "linear.npz", 0o600)
        with pytest.raises(DamagedFile, match="not a plain file"):
            load_ensemble(path)
        if make is os.mkdir:
            os.rmdir(path / "linear.npz")


def test_a_manifest_that_does_not_fit_its_files_is_damage(linear, tmp_path):
    path = saved(linear, tmp_path)
    reseal(path, n_teachers=3)
    with pytest.raises(DamagedFile, match="does not hold together"):
        load_ensemble(path)
    reseal(path, classes={"dtype": "O"})
    with pytest.raises(DamagedFile, match="does not hold together"):
        load_ensemble(path)


def test_a_later_format_is_refused(linear, tmp_path):
    path = saved(linear, tmp_path)
    (path / "MANIFEST").write_bytes(envelope.seal("ensemble", 2, b"{}"))
    with pytest.raises(SavedFormatError, match="reads format 1"):
        load_ensemble(path)


# ---- writing ------------------------------------------------------------------------------------


def test_what_is_there_is_only_replaced_when_asked(linear, tmp_path, trained):
    path = saved(linear, tmp_path)
    with pytest.raises(InvalidArgument, match="must not exist"):
        save_ensemble(linear, path)
    other = trained(DecisionTreeClassifier(max_depth=2))
    save_ensemble(other, path, overwrite=True)
    assert_same_votes(load_ensemble(path), other, table(9, 20))
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_ensemble_is_never_removed(linear, tmp_path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis").write_text("years of work")
    for target in (mine, mine / "thesis"):
        with pytest.raises(InvalidArgument, match="removes nothing else"):
            save_ensemble(linear, target, overwrite=True)
    assert (mine / "thesis").read_text() == "years of work"
    with pytest.raises(InvalidArgument, match="TeacherEnsemble"):
        save_ensemble(LogisticRegression(), tmp_path / "other")


@pytest.mark.faults
@pytest.mark.parametrize("call", ["fsync", "rename", "open"])
@pytest.mark.parametrize("after", [0, 1, 2, 3])
def test_a_failing_disk_leaves_the_old_directory(linear, tmp_path, monkeypatch, call, after):
    path = saved(linear, tmp_path)
    before = {entry.name: entry.read_bytes() for entry in path.iterdir()}
    real, left = getattr(os, call), [after]

    def fail(*args, **kwargs):
        left[0] -= 1
        if left[0] == -1:
            raise OSError(28, "No space left on device")
        return real(*args, **kwargs)

    monkeypatch.setattr(files.os, call, fail)
    try:
        save_ensemble(linear, path, overwrite=True)
        failed = False
    except PersistenceError as error:
        failed = True
        assert "No space left on device" in str(error)
    monkeypatch.undo()
    assert failed or (call, after) in {("rename", 2), ("rename", 3)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["teachers"]
    assert_same_votes(load_ensemble(path), linear, table(9, 10))
    if failed:
        assert {entry.name: entry.read_bytes() for entry in path.iterdir()} == before


@pytest.mark.faults
def test_an_unconfirmed_swap_keeps_both(linear, tmp_path, monkeypatch, trained):
    path = saved(linear, tmp_path)
    real = atomic.sync_directory

    def fail(directory):
        if directory == tmp_path:
            raise OSError(5, "Input/output error")
        real(directory)

    monkeypatch.setattr(atomic, "sync_directory", fail)
    other = trained(DecisionTreeClassifier(max_depth=2))
    with pytest.raises(PersistenceError, match="in place, but .* old one is kept as"):
        save_ensemble(other, path, overwrite=True)
    assert_same_votes(load_ensemble(path), other, table(9, 10))
    (old,) = set(tmp_path.iterdir()) - {path}
    assert_same_votes(load_ensemble(old), linear, table(9, 10))


def test_a_directory_without_a_place_is_said(linear, tmp_path):
    with pytest.raises(PersistenceError, match="No such file"):
        save_ensemble(linear, tmp_path / "absent" / "teachers")
