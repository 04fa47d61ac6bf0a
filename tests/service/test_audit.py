"""Over HTTP, two neighbouring ensembles cannot be told apart better than was paid for.

Every answer of a Gaussian vote, and every instance of a sparse vector, is one draw of its
mechanism: thousands of them in one service measure its epsilon. False alarms: 1e-6 for each audit
by its confidence alone, and far below, because what is measured lies 20 deviations from the price
and at least 7 from the smallest that is demanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tacit import PrivateOracle, load_oracle, save_oracle
from tacit.accounting.price import price
from tacit.audit.estimates import AuditResult, audit
from tacit.mechanisms import GaussianVote, SparseVote
from tacit.mechanisms.base import VoteMechanism
from tacit.service.access import Access
from tacit.service.app import create_app
from tacit.service.settings import Settings
from tacit.service.state import Service

TEACHERS = 81
CONFIDENCE = 1 - 1e-6
pytestmark = pytest.mark.statistical


def saved(folder: Path, mechanism: VoteMechanism, ones: int) -> Path:
    """Save an oracle of one record for each teacher: ``ones`` of them say class 1."""
    X, y = np.zeros((TEACHERS, 1)), np.arange(TEACHERS) < ones
    oracle = PrivateOracle(
        LogisticRegression(), epsilon=1e6, delta=0.9, classes=[0, 1], n_teachers=TEACHERS,
        mechanism=mechanism,
    ).fit(X, y.astype(int))  # fmt: skip
    save_oracle(oracle, folder)
    return folder


@contextmanager
def asking(folder: Path, client_of: Any) -> Iterator[Any]:
    settings = Settings(str(folder), rate=1e9, burst=10**9)
    access = Access(settings.access)
    made = access.first_admin()
    assert made is not None
    service = Service(load_oracle(folder), access, settings)
    with client_of(create_app(service)) as client:

        def ask(start: int, size: int) -> list[Any]:
            body = {"points": [[float(number)] for number in range(start, start + size)]}
            headers = {"Authorization": f"Bearer {made.text}"}
            found = client.post("/v1/answers", json=body, headers=headers).json()
            return [one["label"] for one in found["answers"]]

        yield ask


def labels(ask: Any, questions: int) -> list[Any]:
    return [label for start in range(0, questions, 1000) for label in ask(start, 1000)]


def instances(ask: Any, number: int) -> list[int]:
    """Return how many questions each instance answered before its refusal."""
    lengths: list[int] = []
    length, start = 0, 0
    while len(lengths) < number:
        for label in ask(start, 1000):
            if label is None:
                lengths.append(min(length, 6))
            length = 0 if label is None else length + 1
        start += 1000
    return lengths[:number]


def measured(
    tmp_path: Path, mechanism: VoteMechanism, ones: int, client_of: Any, draw: Any, *, delta: float
) -> AuditResult:
    drawn = []
    for name, count in (("one", ones), ("two", ones + 1)):
        with asking(saved(tmp_path / name, mechanism, count), client_of) as ask:
            drawn.append(iter(draw(ask)))
    first, second = (lambda seed, size, d=d: [next(d) for _ in range(size)] for d in drawn)
    return audit(
        first, second, delta=delta, samples=SAMPLES, confidence=CONFIDENCE, jobs=1, progress=False
    )


SAMPLES = 4000


@pytest.fixture
def client_of() -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from starlette.testclient import TestClient
    return TestClient


def test_answers_of_a_gaussian_vote(tmp_path: Path, client_of: Any) -> None:
    vote = GaussianVote(1.0, answers=10**6)
    event = vote.planned_events()[0][0]
    found = measured(
        tmp_path, vote, TEACHERS // 2, client_of, lambda ask: labels(ask, SAMPLES), delta=1e-3
    )
    assert 0.3 < found.epsilon_lower <= price({event: 1}, delta=1e-3).epsilon


def test_instances_of_a_sparse_vector(tmp_path: Path, client_of: Any) -> None:
    # Votes near the threshold, where an instance tells most; its failure must fit many times.
    vote = SparseVote(0.5, 19.0, cutoff=SAMPLES + 2)
    found = measured(
        tmp_path, vote, 60, client_of, lambda ask: instances(ask, SAMPLES), delta=vote.failure
    )
    assert 0.3 < found.epsilon_lower <= 2 / vote.scale


def test_a_service_with_less_noise_than_it_is_charged_for_is_caught(
    tmp_path: Path, client_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.noise import SecureNoise

    plain = SecureNoise.gaussian
    monkeypatch.setattr(SecureNoise, "gaussian", lambda self, s, n: plain(self, s / 8, n))
    vote = GaussianVote(4.0, answers=10**6)
    event = vote.planned_events()[0][0]
    found = measured(
        tmp_path, vote, TEACHERS // 2, client_of, lambda ask: labels(ask, SAMPLES), delta=1e-3
    )
    assert found.epsilon_lower > price({event: 1}, delta=1e-3).epsilon
