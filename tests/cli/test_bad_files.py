"""Bad files, places and settings: one clear line, status 2 or 3, nothing half-written or spent."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from tacit.cli.main import BAD_INPUT, NOT_RELEASED

pytestmark = pytest.mark.needs("pandas")


def check(desk, result, message: str, status: int = BAD_INPUT) -> None:
    assert result.exit_code == status, result.output
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ") and message in last
    assert "Traceback" not in result.output and result.stdout == ""
    assert not (desk.folder / "model.tacit").exists()
    assert not list(desk.folder.glob(".*.tmp"))
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["reserved"]["epsilon"] == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,sex\n1,f\n", "no label column 'ill'"),
        ("age,ill\n1,no\n", "Missing: 'sex'"),
        ("", "is empty"),
        ("age,sex,ill\n", "at least 2 records"),
        ("age,sex,ill\n1,f,no\n".encode("utf-16"), "--encoding"),
        (b"PAR1", "is not a Parquet file"),
    ],
)
def test_private_files(desk, content: str | bytes, message: str) -> None:
    name = "x.parquet" if content == b"PAR1" else "x.csv"
    result = desk.fit(private=desk.put(name, content), n_teachers=None)
    check(desk, result, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("age,sex\n", "holds no points"),
        ("", "is empty"),
        ("age,size\n1,2\n", "Missing: 'size'"),
        ("age,sex,ill\n1,f,maybe\n", "'maybe', which is not in --classes"),
        ("age,sex\n1,f\n2\n", "Row 2"),
        (b"age,s\xe9x\n1,f\n", "--encoding"),
    ],
)
def test_pools(desk, content: str | bytes, message: str) -> None:
    check(desk, desk.fit(public=desk.put("p.csv", content)), message)


def test_a_line_of_200_megabytes(desk) -> None:
    path = desk.folder / "long.csv"
    with path.open("wb") as file:
        file.truncate(200_000_000)  # zero bytes: one line, and no room on the disk
    check(desk, desk.fit(private=path), "Line 1 of")
    check(desk, desk.fit(public=path), "Line 1 of")


def test_files_that_are_not_there(desk) -> None:
    check(desk, desk.fit(private=desk.folder / "none.csv"), "does not exist")
    check(desk, desk.fit(public=desk.folder / "none.csv"), "does not exist")
    check(desk, desk.fit(private=desk.folder / ".tacit"), "holds no finished shards")
    check(desk, desk.fit(out=desk.folder / "none" / "model.tacit"), "no folder")
    check(desk, desk.fit(out=desk.folder), "not a plain file")
    check(desk, desk.fit(project=desk.folder / "none"), "is not a tacit project")
    check(desk, desk.fit(dataset="others"), "known: patients")


def test_a_folder_that_is_not_writable(desk) -> None:
    place = desk.folder / "closed"
    place.mkdir(mode=0o500)
    # Permissions do not stop root; a place where nobody can make files does.
    where = Path("/proc/self") if os.geteuid() == 0 else place
    check(desk, desk.fit(out=where / "model.tacit"), "not writable")


def test_results_replace_no_file_that_is_read_or_written_otherwise(desk) -> None:
    for name in ("patients.csv", "pool.csv"):
        check(desk, desk.fit(out=desk.folder / name), "needed for something else")
    same = desk.folder / "report.json"
    check(desk, desk.fit(report=same, labels=desk.folder / "." / "report.json"), "--labels")


@pytest.mark.parametrize("name", ["tacit.toml", ".tacit/ledgers/patients.sqlite", ".tacit/new"])
@pytest.mark.parametrize("verb", ["fit", "label"])
def test_results_replace_nothing_of_the_project(desk, verb: str, name: str) -> None:
    result = desk(*desk.words(verb, out=desk.folder / name))
    check(desk, result, "needed for something else")


@pytest.mark.parametrize(
    "content",
    [
        "canary,8765,f\n1,f,no\n",  # no column of labels
        "canary,canary,8765\n1,f,no\n",  # two equal cells
        "ill,canary,8765\n1,f,no\n",  # other columns than the pool
    ],
)
def test_the_first_record_of_a_file_without_header_is_not_shown(desk, content: str) -> None:
    result = desk.fit(private=desk.put("x.csv", content))
    check(desk, result, "column")
    assert "canary" not in result.output and "8765" not in result.output


def test_a_packed_file_that_is_damaged(desk) -> None:
    packed = bytearray(gzip.compress((desk.folder / "patients.csv").read_bytes()))
    packed[12:40] = bytes(28)
    check(desk, desk.fit(private=desk.put("x.csv.gz", bytes(packed))), "cannot be read")


def test_a_learner_that_ends_the_process(desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.put("exits_on_import.py", "raise SystemExit('bye')")
    desk.put(
        "exits_on_fit.py",
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Exits(DecisionTreeClassifier):\n"
        "    def fit(self, X, y):\n"
        "        raise SystemExit('bye')\n",
    )
    monkeypatch.syspath_prepend(desk.folder)
    check(desk, desk.fit(learner="exits_on_import.Learner"), "cannot be imported")
    check(desk, desk.fit(learner="exits_on_fit.Exits"), "SystemExit", status=70)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": "no"}, "at least two"),
        ({"classes": ",yes"}, "missing value"),
        ({"classes": "None,yes"}, "missing value"),
        ({"classes": "yes,TRUE,1"}, "stay different"),
        ({"delta": "0"}, "--delta"),
        ({"epsilon": "-1"}, "epsilon"),
        ({"learner": "nonsense"}, "`learner` must be one of"),
        ({"learner": "sklearn.svm.NoSuch"}, "cannot be imported"),
        ({"param": "max_depth='deep'"}, "learner"),
        ({"neighbouring": "add-remove"}, "`groups` must be given"),
        ({"label": None}, "--label"),
        ({"group": "nobody"}, "no group column"),
        ({"n": 10}, "--dry-run"),
        ({"category": "size"}, "no column 'size'"),
        ({"drop": "age,sex"}, "no column besides"),
        ({"jobs": 0}, "n_jobs"),
    ],
)
def test_settings(desk, changed: dict[str, object], message: str) -> None:
    check(desk, desk.fit(**changed), message)


def test_a_full_disk_leaves_the_old_model_and_the_run_goes_on(desk) -> None:
    old = desk.put("model.tacit", b"the old one")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
        result = desk.fit()
        assert result.exit_code in (BAD_INPUT, NOT_RELEASED), result.output
        assert result.stderr.strip().splitlines()[-1].startswith("Error: ")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert old.read_bytes() == b"the old one"
    assert desk.fit().exit_code == 0
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["reserved"]["epsilon"] == pytest.approx(1.0, rel=1e-3)


def test_a_file_that_cannot_be_used_leaves_no_unfinished_run(desk) -> None:
    check(desk, desk.fit(private=desk.put("x.csv", "age,ill\n1,no\n")), "Missing: 'sex'")
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["unfinished_runs"] == 0


def test_an_interrupted_run_whose_records_became_fewer_says_how_to_start_over(
    desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("tacit.persistence.save_student", interrupted)
        assert desk.fit(n_teachers=None).exit_code == 130
    private = desk.folder / "patients.csv"
    desk.put("patients.csv", b"".join(private.read_bytes().splitlines(keepends=True)[:100]))
    result = desk.fit(n_teachers=None)
    assert result.exit_code == BAD_INPUT
    assert "cannot be resumed" in result.stderr and "--fresh" in result.stderr
    assert desk.fit("--fresh", n_teachers=None).exit_code == 0
    listed = json.loads(desk("datasets", "--project", desk.folder, "--json").stdout)
    assert listed[0]["reserved"]["epsilon"] == pytest.approx(2.0, rel=1e-3)


def test_bad_predictions(desk) -> None:
    points = desk.folder / "pool.csv"
    bad = desk.put("bad.tacit", b"nonsense")
    for words in (
        ("predict", bad, points),
        ("predict", desk.folder / "none", points),
        ("predict", bad, points, "--out", desk.folder),
    ):
        result = desk(*words)
        assert result.exit_code == BAD_INPUT and result.stderr.startswith("Error: ")


# ---- a fuzzer over configurations ---------------------------------------------------------------

_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**6),
    st.floats(allow_nan=False, width=32),
    st.text(max_size=8),
    st.sampled_from(["auto", "age", "ill", "sex", "no,yes", "person", "1e-5", "tree", "none"]),
    st.lists(st.text(max_size=3), max_size=2),
)
_KEYS = ("private", "public", "dataset", "epsilon", "delta", "label", "classes", "group", "learner",
         "neighbouring", "mechanism", "n-teachers", "n-questions", "drop", "category", "format",
         "encoding", "delimiter", "columns", "jobs", "n", "query", "n-batches", "release", "param",
         "quiet", "fresh", "json", "out", "report", "odd")  # fmt: skip


def toml(value: object) -> str:
    return "[]" if value is None else json.dumps(value)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changed=st.dictionaries(st.sampled_from(_KEYS), _ODD, max_size=3))
def test_no_configuration_ends_in_a_traceback(desk, changed: dict[str, object]) -> None:
    folder = str(desk.folder)
    options: dict[str, object] = {
        "public": f"{folder}/pool.csv", "dataset": "patients", "epsilon": 0.5, "delta": 1e-6,
        "label": "ill", "classes": ["no", "yes"], "learner": "tree", "n-teachers": 3,
        "out": f"{folder}/model.tacit", "private": f"{folder}/patients.csv", "query": "none",
    }  # fmt: skip
    options.update(changed)
    for name in ("out", "report"):  # written inside the test's own folder only
        options[name] = str(Path(folder, str(options.get(name, "x")).replace("/", "_")[-50:]))
    config = desk.folder / "fuzz.toml"
    text = "".join(f"{name} = {toml(value)}\n" for name, value in options.items())
    config.write_bytes(text.encode("utf-8", "surrogatepass"))
    # --dry-run prices without training; what only a run can meet is in the tests above.
    for more in (["--dry-run", "--n", "300"], []) if len(changed) == 1 else (["--dry-run"],):
        result = desk("fit", "--project", folder, "--config", str(config), "--yes", *more)
        assert result.exit_code in (0, BAD_INPUT, NOT_RELEASED), (changed, result.output)
