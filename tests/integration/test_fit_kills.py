"""``tacit fit`` killed at random moments: the same released labels, and nothing spent twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMES = 50 if "TACIT_FAULTS" in os.environ else 4


def run(*words: str) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).with_name("fit_kills.py")
    command = [sys.executable, str(script), *words]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.faults
@pytest.mark.needs("pandas")
def test_a_fit_that_is_killed_goes_on_with_what_the_ledger_says() -> None:
    done = run("--times", str(TIMES))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= TIMES and found["faults"] == []


@pytest.mark.faults
@pytest.mark.needs("pandas")
def test_a_build_whose_attempts_pay_again_is_caught() -> None:
    """Missed only if none of 30 kills comes after the reservation: below 1e-6."""
    done = run("--times", "30", "--build", "forgets-its-key")
    assert done.returncode != 0 and "Nothing was opened or spent" in done.stderr
