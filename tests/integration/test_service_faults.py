"""Whatever happens, what clients of the service received is on the ledger, and spent once.

The work is done by ``service_faults.py`` in an interpreter of its own, which forks cheaply. Here
the service is killed twice at every point, and its database is troubled once in every way;
``./dev faults`` sets TACIT_FAULTS and has either come thirty times, and the service killed two
hundred times at random moments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.failpoints import POINTS, REPLY_POINTS

TIMES = int(os.environ.get("TACIT_FAULTS", "2"))
AT_RANDOM = 200 if TIMES >= 30 else TIMES
DATABASES = TIMES if TIMES >= 30 else 1
WANTED = {**dict.fromkeys((*POINTS, *REPLY_POINTS), TIMES), "any-moment": AT_RANDOM}
LOST = {
    "sqlite": dict[str, int](),
    "postgres": dict.fromkeys(
        ("ended-connections", "cut-line", "lost-commit", "lost-commit-reply", "restart", "crash"),
        DATABASES,
    ),
}

pytestmark = pytest.mark.faults


def run(store: str, *mechanisms: str) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("service_faults.py")
    command = [sys.executable, str(script), "--store", store, "--mechanisms", *mechanisms]
    command += ["--together", "--times", str(TIMES), "--at-random", str(AT_RANDOM)]
    command += ["--databases", str(DATABASES)]
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
def test_a_troubled_service_loses_no_spend_and_one_that_replies_first_is_caught(
    store: str, mechanisms: tuple[str, ...]
) -> None:
    *sound, planted = run(store, *mechanisms)
    assert [found["mechanism"] for found in sound] == list(mechanisms)
    for found in sound:
        assert found["faults"] == 0, found
        # Where no file system may be mounted, no disk can be filled.
        full = {"full-disk": DATABASES} if "full-disk" in found["troubles"] else {}
        assert Counter(found["troubles"]) >= Counter(WANTED | LOST[store] | full), found
        assert found["broken"]  # clients noticed
        assert found["unavailable"] or not (LOST[store] or full)
    assert planted["build"] == "replies-first" and planted["faults"] > 0, planted
