"""Kill ``tacit fit`` at random moments, go on, and compare what was released with the ledger.

Run in an interpreter of its own: it loads everything once and forks every command.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from tacit.cli import fit, label, private_run  # noqa: F401  (loaded before the first fork)
from tacit.cli.main import cli
from tacit.data import PointReader
from tacit.data.tables import ReadOptions, read_pool
from tacit.labeling import question_keys
from tacit.ledger import PlanId, open_ledger
from tacit.persistence import load_student
from tacit.project import RunFolder

KILLS_PER_RUN = 5
EPSILON = 1.0
WORDS = (
    "fit private.csv --public pool.csv --label ill --classes no,yes --dataset d --epsilon 1 "
    "--delta 1e-5 --n-teachers 40 --learner logistic --yes --quiet --labels labels.csv"
).split()


def write_files(folder: Path, rng: np.random.Generator) -> None:
    def lines(n: int, labelled: bool) -> list[str]:
        age, sex = rng.integers(18, 90, size=n), rng.choice(["f", "m"], size=n)
        ill = np.where(age > 50, "yes", "no")
        return [
            f"{a},{s}" + (f",{i}" if labelled else "")
            for a, s, i in zip(age, sex, ill, strict=True)
        ]

    (folder / "private.csv").write_text("\n".join(["age,sex,ill", *lines(400, True)]) + "\n")
    (folder / "pool.csv").write_text("\n".join(["age,sex", *lines(60, False)]) + "\n")


def start(folder: Path) -> int:
    """Fork one ``tacit fit``."""
    child = os.fork()
    if child:
        return child
    os.chdir(folder)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(os.open("said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
    try:
        cli.main(WORDS, prog_name="tacit")
    except SystemExit as end:
        os._exit(int(end.code or 0))
    os._exit(99)


def finish(folder: Path, child: int) -> bool:
    """Wait; return whether it was killed."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status):
        said = (folder / "said").read_text()
        raise RuntimeError(f"tacit fit ended with {os.WEXITSTATUS(status)}: {said}")
    return False


def faults(folder: Path) -> list[str]:
    """Return what is wrong with the files that are there and the ledger."""
    found = []
    ledger = open_ledger(folder / ".tacit" / "ledgers" / "d.sqlite")
    ledger.verify()
    if ledger.reserved().epsilon > EPSILON:
        found.append("more is reserved than one run costs")
    if (folder / "model.tacit").exists():
        load_student(folder / "model.tacit")  # whole, or this raises
    if (folder / "labels.csv").exists():
        found += _unrecorded(folder, ledger)
    ledger.close()
    if list(folder.glob(".*.tmp")):
        # A killed process leaves them; nothing reads them.
        for left in folder.glob(".*.tmp"):
            left.unlink()
    return found


def wait_until_reserved(folder: Path, child: int) -> None:
    """Wait until the run has a plan on the ledger, or has ended: late moments are short."""
    ledger = open_ledger(folder / ".tacit" / "ledgers" / "d.sqlite")
    while ledger.head().seq == 0 and os.waitid(
        os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT
    ) is None:  # fmt: skip
        time.sleep(0.002)
    ledger.close()


def break_build() -> None:
    """Let every attempt take a new name on the ledger: it pays again, and this must be noticed."""
    sound = RunFolder._read

    def forgetful(self: RunFolder) -> None:
        sound(self)
        self.key = f"attempt-{os.getpid()}"

    RunFolder._read = forgetful  # type: ignore[method-assign]


def stage(folder: Path) -> str:
    """Return how far the run had come."""
    if (folder / "model.tacit").exists():
        return "results written"
    ledger = open_ledger(folder / ".tacit" / "ledgers" / "d.sqlite")
    rows = ledger.head().seq
    ledger.close()
    if rows:
        return "reserved, asking"
    votes = list((folder / ".tacit" / "runs").glob("*.run/votes/*.votes"))
    return "training" if votes else "starting"


def _unrecorded(folder: Path, ledger: object) -> list[str]:
    pool = read_pool(folder / "pool.csv", ReadOptions(), label="ill")
    names = question_keys(PointReader(pool.schema).records(pool.points))
    known = ledger.recorded(PlanId(1), names)  # type: ignore[attr-defined]
    found = []
    with (folder / "labels.csv").open() as file:
        for row in csv.DictReader(file):
            answer = known.get(names[int(row["row"]) - 1])
            shares = tuple(float(row[f"share_{name}"]) for name in ("no", "yes"))
            if answer is None or tuple(answer.share) != shares:
                found.append(f"row {row['row']} is not what the ledger recorded")
    return found


def make_study(folder: Path, rng: np.random.Generator) -> None:
    """Make a project whose budget is that of one run."""
    made = ["init", str(folder), "--dataset", "d", "--epsilon", str(EPSILON), "--delta", "1e-5"]
    cli.main(made, prog_name="tacit", standalone_mode=False)
    write_files(folder, rng)


def undisturbed(rng: np.random.Generator) -> float:
    """Return how long a run takes in a process that has everything loaded."""
    with tempfile.TemporaryDirectory() as place:
        for number in range(2):  # the first one loads, in this process
            folder = Path(place) / str(number)
            make_study(folder, rng)
            if number == 0:
                with contextlib.chdir(folder):
                    cli.main(WORDS, prog_name="tacit", standalone_mode=False)
            begun = time.monotonic()
            if number == 1:
                finish(folder, start(folder))
        return time.monotonic() - begun


def trial(kills: int, span: float, rng: np.random.Generator) -> dict[str, object]:
    """Kill one run several times, let it end, and look at everything after each time."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "study"
        make_study(folder, rng)
        wrong: list[str] = []
        stages: Counter[str] = Counter()
        killed = 0
        for _ in range(kills):
            child = start(folder)
            if rng.random() < 0.5:
                wait_until_reserved(folder, child)
            time.sleep(rng.uniform(0, span) * rng.uniform(0, 1))
            os.kill(child, signal.SIGKILL)
            ended = not finish(folder, child)
            killed += not ended
            stages[stage(folder)] += not ended
            wrong += faults(folder)
            if ended:
                break
        first = (folder / "labels.csv").read_bytes() if (folder / "labels.csv").exists() else None
        done = (folder / "model.tacit").exists() and not _unfinished(folder)
        if not done:
            finish(folder, start(folder))
        wrong += faults(folder)
        if first is not None and (folder / "labels.csv").read_bytes() != first:
            wrong.append("a run that went on released other labels")
        if _unfinished(folder):
            wrong.append("something private was kept after the end")
        return {"killed": killed, "faults": wrong, "stages": stages}


def _unfinished(folder: Path) -> bool:
    return bool(list((folder / ".tacit" / "runs").glob("*.run")))


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", choices=["sound", "forgets-its-key"], default="sound")
    given = parser.parse_args()
    if given.build != "sound":
        break_build()
    rng = np.random.default_rng(given.seed)
    sys.stdout = sys.stderr  # what the commands print
    span = undisturbed(rng)
    killed, wrong, stages = 0, [], Counter[str]()
    while killed < given.times:
        found = trial(min(KILLS_PER_RUN, given.times - killed), span, rng)
        killed += int(found["killed"])  # type: ignore[call-overload]
        wrong += found["faults"]  # type: ignore[operator]
        stages.update(found["stages"])  # type: ignore[arg-type]
    told = {"killed": killed, "faults": wrong, "stages": dict(stages)}
    print(json.dumps(told), file=sys.__stdout__)


if __name__ == "__main__":
    main()
