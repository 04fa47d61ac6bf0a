"""Saved oracles and applications around them, each test with its own account."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PrivateOracle, load_oracle, save_oracle
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.settings import Settings
from tacit.service.state import Service

with warnings.catch_warnings():
    # It says that it will want another client one day; httpx is what is locked.
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient


class Clock:
    """A clock that tests turn."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Running(NamedTuple):
    """A service in this process: how to reach it, and what is behind it."""

    client: TestClient
    service: Service
    access: Access
    clock: Clock
    key: str

    def ask(self, *points: Any, key: str | None = None, **headers: str) -> Any:
        """Put questions and return the response."""
        given = {"Authorization": f"Bearer {key or self.key}", **headers}
        return self.client.post("/v1/answers", json={"points": list(points)}, headers=given)

    def used(self) -> int:
        """Return how many charges the plan has seen."""
        return sum(self.service.oracle.budget_left().used.values())


def _saved(folder: Path, **settings: Any) -> Path:
    X = np.random.default_rng(1).normal(size=(900, 2))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    given: dict[str, Any] = {
        "epsilon": 40.0, "delta": 1e-9, "classes": ["no", "yes"], "n_teachers": 120,
        "random_state": 3,
    }  # fmt: skip
    oracle = PrivateOracle(LogisticRegression(), **{**given, **settings}).fit(X, y)
    save_oracle(oracle, folder)
    return folder


@pytest.fixture(scope="session")
def saved_oracles(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that trains each kind of oracle once."""
    made: dict[str, Path] = {}

    def get(**settings: Any) -> Path:
        name = repr(sorted(settings.items()))
        if name not in made:
            made[name] = _saved(tmp_path_factory.mktemp("oracles") / "oracle", **settings)
        return made[name]

    return get


@pytest.fixture
def directory(saved_oracles: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that gives a fresh directory with an oracle that was never loaded."""

    def get(name: str = "flu", **settings: Any) -> Path:
        return Path(shutil.copytree(saved_oracles(**settings), tmp_path / name))

    return get


@pytest.fixture
def run(directory: Callable[..., Path]) -> Iterator[Callable[..., Running]]:
    """Return a function that starts a service in this process."""
    with ExitStack() as stack:

        def start(limits: dict[str, Any] | None = None, **settings: Any) -> Running:
            folder = directory(**settings)
            clock = Clock()
            given = Settings(str(folder), **(limits or {}))
            access = Access(given.access, clock=clock)
            service = Service(load_oracle(folder), access, given)
            client = stack.enter_context(TestClient(create_app(service)))
            made = access.first_admin()
            assert made is not None
            return Running(client, service, access, clock, made.text)

        yield start


def free_port() -> int:
    """Return a port that nobody takes before the service does.

    The system's own choice may go to an outgoing connection meanwhile; these lie below, and every
    process that runs tests looks among its own.
    """
    first = 10_000 + os.getpid() % 1000 * 20
    for port in range(first, first + 20):
        with socket.socket() as found, suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


class Served(NamedTuple):
    """A service in a process of its own."""

    process: subprocess.Popen[bytes]
    port: int
    said: Path

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self, number: int = signal.SIGTERM) -> tuple[str, str]:
        """Stop it and return what it printed and logged."""
        self.process.send_signal(number)
        self.process.wait(timeout=180)
        return (self.said / "out").read_text(), (self.said / "err").read_text()


@contextmanager
def _served(folder: Path, *options: str) -> Iterator[Served]:
    """Run ``tacit serve`` until it is ready."""
    said = folder.with_name(f"{folder.name}-said")
    said.mkdir(exist_ok=True)
    port = free_port()
    command = [sys.executable, "-m", "tacit", "serve", str(folder), "--port", str(port), *options]
    # To files: a pipe that nobody empties would stop the service when it is full.
    with open(said / "out", "wb") as out, open(said / "err", "wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err, start_new_session=True)
    found = Served(process, port, said)
    try:
        for _ in range(1800):
            assert process.poll() is None, (said / "err").read_text()
            try:
                if httpx.get(f"{found.address}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        else:
            raise AssertionError((said / "err").read_text())
        yield found
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def served() -> Callable[..., Any]:
    """Return a context that runs ``tacit serve`` in a process of its own."""
    return _served
