"""However the service dies, what its clients received is on the ledger, and nothing is spent twice.

The work is done by ``service_faults.py`` in an interpreter of its own, which forks cheaply. Here
the service is killed twice at every point; ``./dev faults`` sets TACIT_FAULTS and has it killed
thirty times at each, and two hundred times at random moments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tacit.testing.failpoints import POINTS, REPLY_POINTS

TIMES = int(os.environ.get("TACIT_FAULTS", "2"))
AT_RANDOM = 200 if TIMES >= 30 else TIMES

pytestmark = pytest.mark.faults


def run(store: str, *mechanisms: str) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("service_faults.py")
    command = [sys.executable, str(script), "--store", store, "--mechanisms", *mechanisms]
    command += ["--together", "--times", str(TIMES), "--at-random", str(AT_RANDOM)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("store", "mechanisms"),
    [
        # A service that was killed pays for a sparse vector of its own.
        ("sqlite", ("gaussian", "sparse")),
        pytest.param("postgres", ("gaussian",), marks=pytest.mark.needs("postgres")),
    ],
)
def test_a_killed_service_loses_no_spend_and_one_that_replies_first_is_caught(
    store: str, mechanisms: tuple[str, ...]
) -> None:
    *sound, planted = run(store, *mechanisms)
    assert [found["mechanism"] for found in sound] == list(mechanisms)
    for found in sound:
        assert found["faults"] == 0, found
        assert set(found["kills"]) == {*POINTS, *REPLY_POINTS, "any-moment"}
        assert min(found["kills"].values()) >= TIMES and found["kills"]["any-moment"] >= AT_RANDOM
        assert found["broken"]  # clients noticed
    assert planted["build"] == "replies-first" and planted["faults"] > 0, planted
