"""The command line on files, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from tests.neighbours.files import write_csv, write_libsvm, write_parquet
from tests.neighbours.observe import DELTA, EPSILON, Action
from tests.neighbours.pairs import Pair, choose
from tests.neighbours.seams import Halt

from tacit.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
FINGERPRINT = "tests.neighbours.learners.Fingerprint"


@contextlib.contextmanager
def prepare(pair: Pair, side: int, *, complete: bool) -> Iterator[Action]:
    """Put the files of one side into an empty folder, and return what runs ``tacit fit`` there."""
    with tempfile.TemporaryDirectory(prefix="neighbours-") as place, working_in(place):
        private, pool = write_files(pair, side, Path("."))
        invoke("init", ".", "--dataset", "records", "--epsilon", 4 * EPSILON, "--delta", 4 * DELTA)

        def action(public: dict[str, Any]) -> None:
            words = fit_words(pair, private, pool)
            if in_shards(pair):
                see_command(shard_words(pair, private, pool), public)
                words = [word if word != private else "shards" for word in words]
                public |= {f"shard {name}": public[name] for name in ("output", "errors")}
            see_command(words, public)
            see_files(public, private)

        yield action


def write_files(pair: Pair, side: int, place: Path) -> tuple[str, str]:
    """Write records and pool; return the names of the files."""
    table, ending = pair.tables[side], {"libsvm": "svm"}.get(pair.container, pair.container)
    private, pool = f"records.{ending}", f"pool.{ending}"
    if pair.container == "libsvm":
        write_libsvm(place / private, table.rows(), table.labels, pair.raw[side])
        rows = [list(row) for row in zip(*pair.pool.values(), strict=True)]
        write_libsvm(place / pool, rows, [0] * len(rows))
        return private, pool
    columns = dict(zip(table.names, table.columns, strict=True)) | {"label": table.labels}
    if table.people is not None:
        columns["person"] = table.people
    if pair.container == "csv":
        write_csv(place / private, columns, pair.raw[side])
        write_csv(place / pool, pair.pool)
    else:
        write_parquet(place / private, columns)
        write_parquet(place / pool, pair.pool)
    return private, pool


def fit_words(pair: Pair, private: str, pool: str) -> list[str]:
    """Return the command of a pair."""
    rng = np.random.default_rng([24, pair.settings])
    words: list[Any] = [
        "fit", private, "--public", pool, "--dataset", "records", "--project", ".",
        "--classes", ",".join(str(one) for one in pair.classes), "--neighbouring", pair.relation,
        "--epsilon", EPSILON, "--delta", DELTA, "--n-teachers", pair.n_teachers,
        "--out", "model.tacit", "--report", choose(rng, ("report.html", "report.json")), "--yes",
    ]  # fmt: skip
    if pair.container != "libsvm":
        words += ["--label", "label"]
    if pair.people_style is not None:
        words += ["--group", "person"]
    names = [FINGERPRINT, FINGERPRINT, "tree", "logistic", "boosting", "built-in"]
    if pair.container == "libsvm":
        names.remove("boosting")
    learner = choose(rng, names)
    words += ["--learner", learner]
    if learner == "built-in":
        words += ["--rounds", 3]
    elif learner == FINGERPRINT and rng.random() < 0.3:
        words += ["--method", "corrections", "--rounds", 2]
    else:
        words += ["--n-questions", 5, "--labels", "labels.csv"]
        words += ["--mechanism", choose(rng, ("gaussian", "laplace", "confident", "sparse"))]
    if rng.random() < 0.3:
        words.append("--json")
    return [str(word) for word in words]


def in_shards(pair: Pair) -> bool:
    """Whether the records of a pair go through a folder of shards first."""
    return pair.relation == "add-remove" and pair.settings % 3 == 0


def shard_words(pair: Pair, private: str, pool: str) -> list[str]:
    """Return the command that puts the records of a pair into shards."""
    words = ["shard", private, "--out", "shards", "--shards", pair.n_teachers, "--id", "person",
             "--label", "label", "--public", pool, "--quiet"]  # fmt: skip
    return [str(word) for word in words]


def invoke(*words: object) -> Any:
    """Run a command that is expected to work, before anything is observed."""
    result = CliRunner().invoke(cli, [str(word) for word in words])
    if result.exit_code:
        raise RuntimeError(result.output)
    return result


def see_command(words: list[str], public: dict[str, Any]) -> None:
    """Run a command in this process and write down how it ended."""
    result = CliRunner().invoke(cli, words)
    if isinstance(result.exception, Halt):
        raise result.exception
    public["exit code"] = result.exit_code
    public["output"], public["errors"] = result.stdout, result.stderr
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        public["crash"] = f"{type(result.exception).__name__}: {result.exception}"


PUBLIC = ("model.tacit", "report.html", "report.json", "labels.csv")


def see_files(public: dict[str, Any], private: str) -> None:
    """Write down the names of all files, and what is in those that may be handed out."""
    found = sorted(str(one.relative_to(".")) for one in Path(".").rglob("*"))
    public["files"] = [name for name in found if name != private]
    for name in PUBLIC:
        if Path(name).exists():
            content = Path(name).read_bytes()
            public[name] = model_view(content) if name.endswith(".tacit") else content


def model_view(content: bytes) -> tuple[Any, ...]:
    """Return what is in a model's file, without the addresses and times that its writer puts in."""
    start = content.index(b"PK\x03\x04")
    head = re.sub(rb"sha256=\w+", b"", content[:start])
    with zipfile.ZipFile(io.BytesIO(content[start:])) as packed:
        schema = packed.read("schema.json").decode()
        places = {one: str(at) for at, one in enumerate(dict.fromkeys(_ADDRESS.findall(schema)))}
        schema = _ADDRESS.sub(lambda found: places[found[0]], schema)
        parts = {_ADDRESS.sub(lambda found: places.get(found[0], "?"), one): packed.read(one)
                 for one in packed.namelist() if one != "schema.json"}  # fmt: skip
    return head, schema, sorted(parts.items())


_ADDRESS = re.compile(r"\b\d{12,}\b")


@contextlib.contextmanager
def working_in(place: str) -> Iterator[None]:
    """Work in a folder for a while."""
    before = os.getcwd()
    os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


# ---- in a process of its own --------------------------------------------------------------------


def observe_process(pair: Pair, side: int, before: Any) -> Any:
    """Run one side in a new process, which writes its record down; see its exit and its output."""
    from tests.neighbours.observe import Observation

    with tempfile.TemporaryDirectory(prefix="neighbours-") as place:
        private, pool = write_files(pair, side, Path(place))
        with working_in(place):
            invoke("init", ".", "--dataset", "records",
                   "--epsilon", 4 * EPSILON, "--delta", 4 * DELTA)  # fmt: skip
            # The record of the other side is handed over, that of this one comes back.
            job = (fit_words(pair, private, pool), pair.settings,
                   None if before is None else before.record)  # fmt: skip
            handed = Path(place).with_suffix(".job")
            handed.write_bytes(pickle.dumps(job))
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "tests.neighbours.child", str(handed)],
                    capture_output=True, check=False, timeout=300,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
                )  # fmt: skip
                found = Observation(record=pickle.loads(handed.read_bytes()))
            finally:
                handed.unlink(missing_ok=True)
            found.public["exit code"] = done.returncode
            found.public["output"], found.public["errors"] = done.stdout, done.stderr
            see_files(found.public, private)
    return found
