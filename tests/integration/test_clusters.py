"""The same votes and corrections from this process, its workers, a Dask and a Ray cluster."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from tacit import Corrections, PATEClassifier
from tacit.audit import SeededNoise
from tacit.data.shards import ShardFolder, write_shards
from tacit.errors import WorkersFailed
from tacit.noise import NoiseSource
from tacit.teachers.labels import DEFAULT
from tacit.teachers.learner import shard_seed
from tacit.teachers.on_shards import count_on_shards, train_on_shards
from tacit.teachers.workers.backend import Backend
from tacit.teachers.workers.retrying import retrying

pytestmark = [
    pytest.mark.faults,
    pytest.mark.needs("pandas"),
    # Loky's thread may fail (KeyError) when joblib throws work away that it has just sent out.
    pytest.mark.filterwarnings("ignore:Exception in thread ExecutorManagerThread"),
]

N_SHARDS = 12
SEED = 3
MARK = 987654.321012345
HERE = Path(__file__).parent

Open = Callable[[], AbstractContextManager[Any]]


@pytest.fixture(scope="module", autouse=True)
def parts() -> Iterator[Any]:
    """What workers import; they find it as this process does."""
    before = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", os.pathsep.join([str(HERE), *sys.path, before]))
        patched.syspath_prepend(str(HERE))
        yield importlib.import_module("cluster_parts")


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> ShardFolder:
    import pandas as pd

    place = tmp_path_factory.mktemp("records")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    frame["y"] = (frame["a"] + frame["b"] + rng.normal(size=600) > 0).astype(int)
    frame["person"] = rng.integers(300, size=600)
    frame.loc[frame.index % 7 == 0, "c"] = MARK
    frame.to_parquet(place / "records.parquet")
    return write_shards(
        [place / "records.parquet"],
        place / "shards",
        n_shards=N_SHARDS,
        identifier="person",
        label="y",
    )


@pytest.fixture(scope="module")
def questions() -> Any:
    return np.random.default_rng(1).normal(size=(40, 3))


@pytest.fixture(scope="module")
def expected(shards: ShardFolder, questions: Any, parts: Any) -> Any:
    """Counts of teachers trained one after the other in this process."""
    return counted(parts.Recording(), shards, questions)


def counted(learner: Any, shards: Any, questions: Any, **how: Any) -> Any:
    found = count_on_shards(learner, shards, questions, classes=[0, 1], seed=SEED, **how)
    return found.private_array()


# ---- clusters ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where clusters keep their files. The name is short, because Ray makes sockets below."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as place:
        yield Path(place)


def files_with_records(folder: Path) -> list[Path]:
    """Return plain files that hold the mark of the records, as bytes or in words."""
    marks = [np.float64(MARK).tobytes(), repr(MARK).encode()]
    files = [one for one in folder.rglob("*") if one.is_file()]
    return [one for one in files if any(mark in one.read_bytes() for mark in marks)]


@pytest.fixture(scope="module")
def loky(folder: Path) -> Open:
    place = str(folder)
    return lambda: joblib.parallel_config("loky", n_jobs=2, temp_folder=place)


@pytest.fixture(scope="module")
def dask(folder: Path, parts: Any) -> Iterator[Open]:
    distributed = pytest.importorskip("dask.distributed")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",  # any free port: another run may have the usual one
        local_directory=str(folder),
        silence_logs=60,
    )
    client = distributed.Client(cluster)
    try:
        yield lambda: joblib.parallel_config("dask")
    finally:
        client.close()
        cluster.close(timeout=120)  # longer than a worker may take to die on a busy machine


@pytest.fixture(scope="module")
def ray(folder: Path, parts: Any) -> Iterator[Open]:
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patched:
        # No token in the user's home, nothing sent anywhere.
        patched.setenv("RAY_AUTH_MODE", "disabled")
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patched.setenv("RAY_raylet_start_wait_time_s", "300")  # a busy machine takes its time
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=100 * 2**20,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=str(folder),
        )
        register_ray()
        try:
            yield lambda: joblib.parallel_config("ray")
        finally:
            ray.shutdown()


BACKENDS = [
    "loky",
    pytest.param("dask", marks=pytest.mark.needs("dask")),
    pytest.param("ray", marks=pytest.mark.needs("ray")),
]


@pytest.fixture(params=BACKENDS)
def cluster(request: pytest.FixtureRequest) -> AbstractContextManager[Any]:
    opened: AbstractContextManager[Any] = request.getfixturevalue(request.param)()
    return opened


# ---- the same counts -----------------------------------------------------------------------------


def test_counts_are_the_same_from_workers_that_leave_nothing_behind(
    cluster: Any, shards: Any, questions: Any, expected: Any, parts: Any, folder: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    with cluster:
        found = counted(parts.Recording(place=str(tmp_path)), shards, questions)
    np.testing.assert_array_equal(found, expected)
    workers = {int(one.name) for one in tmp_path.iterdir()}
    assert workers and os.getpid() not in workers
    assert files_with_records(folder) == []
    (folder / "planted").write_bytes(b"x" + np.float64(MARK).tobytes())
    assert files_with_records(folder) == [folder / "planted"]
    (folder / "planted").unlink()


def test_a_killed_worker_changes_nothing(
    cluster: Any, shards: Any, questions: Any, expected: Any, parts: Any, tmp_path: Path
) -> None:
    flag = tmp_path / "killed"
    with cluster:
        found = counted(parts.Recording(once=str(flag)), shards, questions)
    assert flag.exists()
    np.testing.assert_array_equal(found, expected)


def test_models_come_back_when_they_are_wanted(
    loky: Open, shards: Any, questions: Any, expected: Any, parts: Any
) -> None:
    with loky():
        teachers = train_on_shards(
            parts.Recording(), shards, like=questions, classes=[0, 1], seed=SEED
        )
    np.testing.assert_array_equal(teachers.count(questions).private_array(), expected)


# ---- the same corrections ------------------------------------------------------------------------


class Seeded(PATEClassifier):
    """With predictable noise, to compare fits."""

    def _noise(self) -> NoiseSource:
        return SeededNoise(7)


def corrected(shards: Any, questions: Any, learner: Any = None) -> Any:
    """Return what a fit in rounds releases: integers, after noise that is the same every time."""
    clf = Seeded(
        learner, epsilon=20.0, delta=1e-6, classes=[0, 1], neighbouring="add-remove",
        random_state=0, method=Corrections(rounds=3), verbose=False,
    )  # fmt: skip
    return clf.fit(shards, X_public=questions).released_.corrections


@pytest.fixture(scope="module", params=["built-in", "learner"])
def teachers(request: pytest.FixtureRequest, shards: Any, questions: Any, parts: Any) -> Any:
    """Return a function that makes a learner, and what it releases in this process."""
    make = {"built-in": lambda **how: None, "learner": parts.Recording}[request.param]
    return make, corrected(shards, questions, make())


def test_corrections_are_the_same_from_workers_that_leave_nothing_behind(
    cluster: Any, shards: Any, questions: Any, teachers: Any, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    make, wanted = teachers
    monkeypatch.setattr(ShardFolder, "read", Unread())
    with cluster:
        found = corrected(shards, questions, make(place=str(tmp_path)))
    np.testing.assert_array_equal(found, wanted)
    assert files_with_records(folder) == []


class Unread:
    """Stands in for reading a shard in this process; workers have imported their own."""

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("a shard was read in the calling process")


def test_a_worker_killed_in_a_round_changes_nothing(
    cluster: Any, shards: Any, questions: Any, parts: Any, tmp_path: Path
) -> None:
    wanted = corrected(shards, questions, parts.Recording())
    flag = tmp_path / "killed"
    with cluster:
        found = corrected(shards, questions, parts.InWorkers(parent=os.getpid(), once=str(flag)))
    assert flag.exists()
    np.testing.assert_array_equal(found, wanted)


# ---- faults --------------------------------------------------------------------------------------


def without(expected: Any, shards: Any, questions: Any, parts: Any, numbers: list[int]) -> Any:
    """Return counts in which some teachers vote for the first class."""
    teachers = train_on_shards(parts.Recording(), shards, like=questions, classes=[0, 1], seed=SEED)
    found = expected.copy()
    for number in numbers:
        votes = teachers.private_teachers()[number].votes(questions)
        found[np.arange(len(votes)), votes] -= 1
        found[:, DEFAULT] += 1
    return found


@pytest.mark.needs("dask")
def test_a_shard_that_fails_on_one_node_is_read_elsewhere(
    dask: Open, shards: Any, questions: Any, expected: Any, parts: Any, tmp_path: Path
) -> None:
    flaky = parts.FailingOnce(shards, 5, tmp_path / "failed")
    with dask():
        found = counted(parts.Recording(), flaky, questions)
    assert (tmp_path / "failed").exists()
    np.testing.assert_array_equal(found, expected)


def test_shards_that_nobody_can_read_get_teachers_that_vote_for_the_first_class(
    shards: Any, questions: Any, expected: Any, parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.teachers.workers.executor.PAUSE_AFTER_UNREAD", 0.0)
    with pytest.warns(UserWarning, match="2 of 12 shards could not be read"):
        found = counted(parts.Recording(), parts.Unreadable(shards, [2, 7]), questions)
    np.testing.assert_array_equal(found, without(expected, shards, questions, parts, [2, 7]))


def test_shards_of_which_none_can_be_read_are_an_error(
    shards: Any, questions: Any, parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.teachers.workers.executor.PAUSE_AFTER_UNREAD", 0.0)
    with pytest.raises(WorkersFailed, match="None of 12 shards"):
        counted(parts.Recording(), parts.Unreadable(shards, list(range(N_SHARDS))), questions)


def test_a_shard_that_kills_every_worker_costs_one_vote_and_no_other(
    loky: Open, shards: Any, questions: Any, expected: Any, parts: Any
) -> None:
    fatal = parts.Recording(fatal=shard_seed(SEED, 4))
    with loky(), retrying(attempts=1):
        found = counted(fatal, shards, questions)
    np.testing.assert_array_equal(found, without(expected, shards, questions, parts, [4]))


@pytest.mark.needs("dask")
def test_a_node_that_hangs_is_not_waited_for(
    dask: Open, shards: Any, questions: Any, expected: Any, parts: Any, tmp_path: Path
) -> None:
    with dask(), retrying(patience=2.0):
        found = counted(parts.Recording(hangs=str(tmp_path / "hangs")), shards, questions)
    np.testing.assert_array_equal(found, expected)


def test_workers_of_other_versions_are_refused(
    loky: Open, shards: Any, questions: Any, parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tacit.teachers.workers.tasks.versions_behind", lambda learner: {"numpy": "0.1"}
    )
    told = rf"numpy {np.__version__} \(here 0\.1\)"
    with loky(), pytest.raises(WorkersFailed, match=told):
        counted(parts.Recording(), shards, questions)


def test_work_under_way_is_waited_for_when_versions_differ(
    loky: Open, shards: Any, questions: Any, parts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Joblib prints the traceback of a thread now and then where work is thrown away."""
    monkeypatch.setattr(
        "tacit.teachers.workers.tasks.versions_behind", lambda learner: {"numpy": "0.1"}
    )
    ended: list[Any] = []

    def watched(backend: Any, calls: Any, *, patience: float | None = None) -> Any:
        yield from results(backend, calls, patience=patience)
        ended.append(next(calls, None))

    results = Backend.results
    monkeypatch.setattr(Backend, "results", watched)
    with loky(), pytest.raises(WorkersFailed):
        counted(parts.Recording(), shards, questions)
    assert ended == [None]


def test_a_learner_that_cannot_be_sent_is_an_error_that_says_so(
    loky: Open, shards: Any, questions: Any, parts: Any
) -> None:
    with loky(), pytest.raises(WorkersFailed, match="without any records: .* must be one that can"):
        counted(parts.Recording(place=parts.Stays()), shards, questions)
