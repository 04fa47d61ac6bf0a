"""``tacit fit`` killed at random moments: the same released labels, and nothing spent twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMES = 50 if "TACIT_FAULTS" in os.environ else 4


@pytest.mark.faults
@pytest.mark.needs("pandas")
def test_a_fit_that_is_killed_goes_on_with_what_the_ledger_says() -> None:
    script = Path(__file__).with_name("fit_kills.py")
    done = subprocess.run(
        [sys.executable, str(script), "--times", str(TIMES)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] >= TIMES and found["faults"] == []
