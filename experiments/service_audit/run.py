"""The epsilon of a running service, measured from outside, against what it charges.

Two oracles are trained on neighbouring records (one label differs), saved, and served by ``tacit
serve`` in processes of their own. A client asks over HTTP. Every answer of a Gaussian vote is one
draw of its mechanism, every instance of a sparse vector one of its own; the audit bounds epsilon
from below with them. Figures go to ``results/audit_service.json``: ``measured`` must stay below
``charged``.

    python experiments/service_audit/run.py [--samples 50000]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from tacit import PrivateOracle, save_oracle
from tacit.accounting.price import price
from tacit.audit.estimates import audit
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.service.access import Access

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from _record import write

TEACHERS, BATCH, CONFIDENCE = 101, 1000, 0.9999


def saved(folder: Path, mechanism: VoteMechanism, ones: int) -> str:
    """Save an oracle of one record for each teacher, ``ones`` of class 1; return a key."""
    X, y = np.zeros((TEACHERS, 1)), (np.arange(TEACHERS) < ones).astype(int)
    oracle = PrivateOracle(
        LogisticRegression(), epsilon=1e7, delta=0.99, classes=[0, 1], n_teachers=TEACHERS,
        mechanism=mechanism,
    ).fit(X, y)  # fmt: skip
    save_oracle(oracle, folder)
    access = Access(folder / "access.sqlite")
    key = access.create("auditor").text
    access.close()
    return key


@contextmanager
def served(folder: Path, key: str) -> Iterator[Any]:
    """Serve the oracle and give a function that asks so many new questions."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = int(found.getsockname()[1])
    command = [sys.executable, "-m", "tacit", "serve", str(folder), "--port", str(port)]
    process = subprocess.Popen(
        [*command, "--rate", "1e9"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        asked = 0

        def ask() -> list[Any]:
            nonlocal asked
            body = json.dumps({"points": [[float(asked + n)] for n in range(BATCH)]})
            connection.request("POST", "/v1/answers", body, headers)
            found = connection.getresponse()
            told = json.loads(found.read())
            if found.status != 200:
                raise RuntimeError(str(told))
            asked += BATCH
            return [one["label"] for one in told["answers"]]

        yield ask
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def labels(ask: Any, samples: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < samples:
        found += ask()
    return found[:samples]


def instances(ask: Any, samples: int) -> list[Any]:
    """Return how many questions each instance answered before its refusal, twelve at most."""
    lengths: list[int] = []
    length = 0
    while len(lengths) < samples:
        for label in ask():
            if label is None:
                lengths.append(min(length, 12))
            length = 0 if label is None else length + 1
    return lengths[:samples]


def measure(mechanism: VoteMechanism, ones: int, draw: Any, samples: int, delta: float) -> Any:
    drawn = []
    for count in (ones, ones + 1):
        with tempfile.TemporaryDirectory() as folder:
            key = saved(Path(folder) / "oracle", mechanism, count)
            with served(Path(folder) / "oracle", key) as ask:
                drawn.append(draw(ask, samples))
    streams = [iter(found) for found in drawn]
    first, second = (lambda seed, size, d=d: [next(d) for _ in range(size)] for d in streams)
    found = audit(
        first, second, delta=delta, samples=samples, confidence=CONFIDENCE, jobs=1, progress=False
    )
    event = mechanism.planned_events()[0][0]
    charged = price({event: 1}, delta=delta).epsilon
    return {
        "mechanism": repr(mechanism),
        "votes": [[TEACHERS - ones, ones], [TEACHERS - ones - 1, ones + 1]],
        "samples": samples,
        "delta": delta,
        "confidence": CONFIDENCE,
        "measured": round(found.epsilon_lower, 4),
        "charged": round(charged, 4),
        "holds": found.epsilon_lower <= charged,
    }


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--samples", type=int, default=50_000)
    samples = arguments.parse_args().samples
    gaussian = GaussianVote(1.0, answers=2 * samples)
    # Votes near the threshold, where an instance tells most; its failure must fit many times.
    sparse = SparseVote(1.0, 24.0, cutoff=samples + 2)
    figures = {
        "gaussian answers": measure(gaussian, TEACHERS // 2, labels, samples, 1e-3),
        "sparse instances": measure(sparse, 75, instances, samples, sparse.failure),
    }
    write("audit_service", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
