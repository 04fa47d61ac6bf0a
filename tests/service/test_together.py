"""Eight client processes, two workers, one account: never overspent, never two answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import load_oracle
from tacit.labeling import question_key
from tacit.mechanisms import SparseVote
from tacit.service.access import Access
from tacit.service.settings import Settings

CLIENT = Path(__file__).with_name("clients.py")
CLIENTS = 8


def journals(folder: Path) -> Iterator[tuple[list[float], int, str]]:
    for path in sorted(folder.glob("journal-*")):
        for line in path.read_text().splitlines():
            point, status, text = json.loads(line)
            yield point, status, text


def questions(seed: int) -> list[list[float]]:
    """Return questions that clients share in part: clear ones and hard ones, in their own order."""
    rng, own = np.random.default_rng(7), np.random.default_rng(seed)
    shared = rng.uniform(-3, 3, size=(60, 2)).round(3)
    hard = np.outer(own.uniform(0.3, 0.9, 120).round(6), [1.0, -1.0])
    found = [*own.permutation(np.concatenate([shared, hard[:20]])), *hard[20:]]
    return [[float(x), float(y)] for x, y in found]


def ask_until_spent(folder: Path, port: str, keys: list[str]) -> None:
    clients = []
    for number, key in enumerate(keys):
        points = folder / f"points-{number}"
        points.write_text(json.dumps(questions(number)))
        journal = folder / f"journal-{number}"
        command = [sys.executable, str(CLIENT), port, key, str(points), str(journal)]
        clients.append(subprocess.Popen(command))
    assert [client.wait(timeout=300) for client in clients] == [0] * len(keys)


def check(oracle: Any, folder: Path, *, lost: bool = False, ended: bool = True) -> dict[str, int]:
    """Compare what clients received with the ledger; return what was counted."""
    opened = oracle.opened()
    seen: dict[str, Any] = {}
    spent = 0
    for point, status, text in journals(folder):
        if lost and status == 0:
            continue
        assert status in (200, 403), text
        if status == 403:
            assert json.loads(text)["type"] == "urn:tacit:problem:budget-spent"
            spent += 1
            continue
        (answer,) = json.loads(text)["answers"]
        name = json.dumps(point)
        assert seen.setdefault(name, answer) == answer, "two answers for one question"
    names = {name: question_key(json.loads(name)) for name in seen}
    recorded = opened.ledger.recorded(opened.plan_id, list(names.values()))
    for name, answer in seen.items():
        told = recorded[names[name]].label
        label = None if told is None else oracle.classes_.tolist()[told]
        assert label == answer["label"], "an answer without its record"
    opened.ledger.verify()
    left = oracle.budget_left()
    assert all(left.used[event] <= most for event, most in left.most.items())
    assert not ended or (left.spent and spent)
    return {"questions": len(seen), "spent": spent, "charges": sum(left.used.values())}


def run(folder: Path, ledger: str | None, oracle_dir: Path, served: Any) -> dict[str, int]:
    access = Access(Settings(str(oracle_dir), ledger).access)
    keys = [access.create(f"analyst-{n}").text for n in range(CLIENTS)]
    access.close()
    with served(oracle_dir, "--workers", "2") as found:
        ask_until_spent(folder, str(found.port), keys)
        _, logged = found.stop()
    assert logged.count('"started"') == logged.count('"stopped"') == 2
    oracle = load_oracle(oracle_dir, ledger=ledger)
    try:
        counted = check(oracle, folder)
        accounts = oracle.opened().ledger.accounts(oracle.opened().plan_id)
        assert {account.name for account in accounts} <= {f"analyst-{n}" for n in range(CLIENTS)}
        if isinstance(oracle.terms_.mechanism, SparseVote):
            assert counted["charges"] <= oracle.terms_.mechanism.cutoff
    finally:
        oracle.close()
    return counted


def children(parent: int) -> list[int]:
    """Return the worker processes of a service, youngest last."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
            words = (path.parent / "cmdline").read_bytes()
        except OSError:
            continue  # it has gone meanwhile
        if int(rest.split()[1]) == parent and b"spawn_main" in words:
            found.append(int(name.split()[0]))
    return sorted(found)


@pytest.mark.faults
def test_killed_workers_lose_no_spend_and_change_no_answer(
    directory: Any, tmp_path: Path, served: Any
) -> None:
    """``TACIT_KILLS`` asks for more kills than the two of an ordinary run."""
    folder = directory(mechanism="gaussian", n_questions=400)
    access = Access(Settings(str(folder)).access)
    keys = [access.create(f"analyst-{n}").text for n in range(4)]
    access.close()
    kills, done = int(os.environ.get("TACIT_KILLS", "2")), 0
    with served(folder, "--workers", "2") as found:
        asking = threading.Thread(target=ask_until_spent, args=(tmp_path, str(found.port), keys))
        asking.start()
        while asking.is_alive() and done < kills:
            time.sleep(0.5)
            workers = children(found.process.pid)
            if len(workers) == 2:
                os.kill(workers[done % 2], signal.SIGKILL)
                done += 1
                time.sleep(2)
        asking.join()
    oracle = load_oracle(folder)
    counted = check(oracle, tmp_path, lost=True, ended=False)
    oracle.close()
    # A fast machine may have spent the budget before the last kill.
    assert done >= 1 and counted["questions"] > 0


@pytest.mark.needs("postgres")
def test_two_workers_and_postgresql(
    directory: Any,
    tmp_path: Path,
    postgres_url: str,
    served: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "TACIT_LEDGER_URL", postgres_url)
    folder = directory()
    assert run(tmp_path, postgres_url, folder, served)["charges"] == 7
    assert not (folder / "ledger.sqlite").exists() and not (folder / "access.sqlite").exists()
