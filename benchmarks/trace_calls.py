"""How many functions and files of tacit one piece of work goes through.

Three pieces of work: ``fit``, a classifier fitted in memory with the arguments of the README;
``post``, one ``POST /v1/answers`` of one new question to a service in this process; ``command``,
one ``tacit fit`` from two files. Each is done once beforehand, so that imports and whatever happens
only at first use are not counted; then it is done again with a profiler in every thread of this
process.

A function counts once however often it is called, and only if it has a name: comprehensions,
lambdas and the bodies of modules and classes are part of what contains them. ``depth`` is the most
functions of tacit that were active on one thread at the same time.

    python benchmarks/trace_calls.py [fit] [post] [command] [--list]
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import tacit

ROOT = str(Path(tacit.__file__).parent) + os.sep


class CallTrace:
    """Records which functions of tacit are called, on the threads that start while it is active."""

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self._depths = threading.local()
        self._recording = False
        self.depth = 0

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Follow this thread and those that it starts; record only inside ``recorded``."""
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what is called."""
        self._recording = True
        try:
            yield
        finally:
            self._recording = False

    def functions(self) -> list[str]:
        """Return every function that was called, as ``file:line name``."""
        return sorted(
            f"{code.co_filename.removeprefix(ROOT)}:{code.co_firstlineno} {code.co_qualname}"
            for code in self._codes
        )

    def figures(self) -> dict[str, int]:
        """Return how many functions and files were involved, and how deep calls were nested."""
        files = {code.co_filename for code in self._codes}
        return {"functions": len(self._codes), "files": len(files), "depth": self.depth}

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT) or not _is_named_function(code):
            return
        active = getattr(self._depths, "active", 0)
        if event == "call":
            self._depths.active = active + 1
            if self._recording:
                self._codes.add(code)
                self.depth = max(self.depth, active + 1)
        elif event == "return":
            self._depths.active = max(0, active - 1)


def _is_named_function(code: CodeType) -> bool:
    # Only functions have optimized locals; bodies of modules and classes do not.
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")


def _records() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    return X, (X.sum(axis=1) > 0).astype(int), rng.normal(size=(500, 2))


def trace_fit() -> CallTrace:
    """Fit a classifier in memory."""
    X, y, pool = _records()

    def fit() -> None:
        clf = tacit.PATEClassifier(
            LogisticRegression(),
            epsilon=1.0,
            delta=1e-5,
            classes=[0, 1],
            random_state=0,
            method=tacit.Votes(),
        )
        clf.fit(X, y, X_public=pool)

    return _second_time(fit)


def trace_post() -> CallTrace:
    """Ask a service one new question over ASGI."""
    import httpx

    from tacit.service.access import Access
    from tacit.service.app import create_app
    from tacit.service.settings import Settings
    from tacit.service.state import Service

    trace = CallTrace()
    X, y, _ = _records()
    oracle = tacit.PrivateOracle(
        LogisticRegression(), epsilon=4.0, delta=1e-6, classes=[0, 1], random_state=0
    )

    async def requests(app: Any, key: str) -> None:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            headers = {"Authorization": f"Bearer {key}"}
            for number in range(4):
                question = {"json": {"point": [8.0, 8.0 + number]}, "headers": headers}
                if number < 3:
                    response = await client.post("/v1/answers", **question)
                else:
                    with trace.recorded():
                        response = await client.post("/v1/answers", **question)
                response.raise_for_status()

    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, "oracle")
        tacit.save_oracle(oracle.fit(X, y), saved)
        settings = Settings(saved)
        with trace.threads():
            access = Access(settings.access)
            key = access.create("trace").text
            service = Service(tacit.load_oracle(saved), access, settings)
            asyncio.run(requests(create_app(service), key))
            service.oracle.close()
            access.close()
    return trace


def trace_command() -> CallTrace:
    """Run ``tacit fit`` from two files."""
    from tacit.cli.main import cli

    X, y, pool = _records()
    with tempfile.TemporaryDirectory() as folder:
        private, public = Path(folder, "private.csv"), Path(folder, "public.csv")
        np.savetxt(private, np.c_[X, y], "%.6g", ",", header="a,b,label", comments="")
        np.savetxt(public, pool, "%.6g", ",", header="a,b", comments="")

        def run(*arguments: str) -> None:
            with (
                open(os.devnull, "w") as nowhere,
                redirect_stdout(nowhere),
                redirect_stderr(nowhere),
            ):
                cli.main(arguments, prog_name="tacit", standalone_mode=False)

        run("init", folder, "--dataset", "trace", "--epsilon", "9", "--delta", "1e-4")
        made = iter(range(2))

        def fit() -> None:
            run(
                "fit", str(private), "--public", str(public), "--label", "label",
                "--classes", "0,1",
                "--dataset", "trace", "--epsilon", "1", "--delta", "1e-5", "--learner", "logistic",
                "--project", folder, "--out", f"{folder}/{next(made)}.tacit", "--yes", "--quiet",
            )  # fmt: skip

        return _second_time(fit)


def _second_time(work: Callable[[], None]) -> CallTrace:
    trace = CallTrace()
    work()
    with trace.threads(), trace.recorded():
        work()
    return trace


KINDS = {"fit": trace_fit, "post": trace_post, "command": trace_command}


def main() -> None:
    """Print figures, and with ``--list`` the functions."""
    parser = argparse.ArgumentParser(description="Count the functions of tacit that work uses.")
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--list", action="store_true", help="print every function, too")
    given = parser.parse_args()
    if unknown := set(given.kinds) - set(KINDS):
        parser.error(f"no such work: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    for kind in given.kinds or KINDS:
        trace = KINDS[kind]()
        print(json.dumps({kind: trace.figures()}))
        if given.list:
            print("\n".join(f"  {function}" for function in trace.functions()))


if __name__ == "__main__":
    main()
