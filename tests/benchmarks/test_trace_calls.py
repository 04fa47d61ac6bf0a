"""The trace counts named functions of tacit, on every thread, and nothing else."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from tacit import Budget

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "trace_calls.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("trace_calls", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_named_functions_of_tacit_are_counted_once_on_every_thread(script: ModuleType) -> None:
    trace = script.CallTrace()

    def work() -> None:
        for epsilon in (1.0, 2.0):
            Budget(epsilon, 1e-5)

    profile = sys.getprofile()
    try:
        with trace.threads():
            work()
            with trace.recorded():
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
    finally:
        sys.setprofile(profile)
    names = [function.partition(" ")[2] for function in trace.functions()]
    assert "Budget.__post_init__" in names
    assert len(names) == len(set(names)) == trace.figures()["functions"]
    assert not any(name.rpartition(".")[2].startswith("<") for name in names)
    assert trace.figures()["files"] == 2  # the budget and the checks of its parameters
    assert 1 < trace.figures()["depth"] < 6
