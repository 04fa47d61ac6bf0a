"""The active joblib backend: who does the work, and how results come back."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from tacit.errors import WorkersFailed

CALLS_PER_WORKER = 4
"""How many calls a worker gets at a time where results come back as lists only."""


class Backend:
    """Whoever joblib sends work to at present: this process, others of it, Dask or Ray.

    Parameters
    ----------
    n_jobs : int, optional
        As in joblib. Without one, a cluster is used as a whole.

    Attributes
    ----------
    remote : bool
        Whether it is a cluster, whose workers may lie elsewhere.
    n_workers : int
    tried : bool
        Whether a task without shards was done by workers: those that cannot work are found out.
    """

    tried = False

    def __init__(self, n_jobs: int | None) -> None:
        active, configured = get_active_backend()
        self.remote = not type(active).__module__.startswith("joblib._parallel_backends")
        self._streams = bool(active.supports_return_generator)
        self._parallel: Any = None
        # Ray's backend has a default of one, and would run everything in this process.
        self._n_jobs = -1 if self.remote and n_jobs is None and configured is None else n_jobs
        try:
            self.n_workers = int(joblib.effective_n_jobs(self._n_jobs))
        except Exception as error:
            raise WorkersFailed(
                f"The active joblib backend, {type(active).__name__}, has no workers: "
                f"{type(error).__name__}: {error}"
            ) from error

    def results(
        self, calls: Iterator[Any], *, patience: float | None = None
    ) -> Generator[Any, None, None]:
        """Yield what calls return, as they finish; raises what the backend raises.

        ``patience`` is how many seconds a cluster may take without any result.
        """
        timeout = patience if self.remote else None
        if self._streams:
            yield from self._stream(calls, timeout)
            return
        try:
            pool = self._pool()
            pool.timeout = timeout
            while some := list(islice(calls, CALLS_PER_WORKER * self.n_workers)):
                yield from pool(some)
        except BaseException:
            self.close()
            raise

    def _stream(self, calls: Iterator[Any], timeout: float | None) -> Generator[Any, None, None]:
        results = joblib.Parallel(
            self._n_jobs, return_as="generator_unordered", batch_size=1, timeout=timeout
        )(calls)
        try:
            for one in results:  # noqa: UP028 - `yield from` would close it before the silence below
                yield one
        finally:
            # When the caller stops early, joblib's warning about discarded work is not useful.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.close()

    def _pool(self) -> Any:
        """Return workers that stay between calls: Ray takes seconds to start one."""
        if self._parallel is None:
            self._parallel = joblib.Parallel(self._n_jobs, batch_size=1).__enter__()
        return self._parallel

    def close(self) -> None:
        """Shut down the workers."""
        pool, self._parallel = self._parallel, None
        if pool is not None:
            pool.__exit__(None, None, None)
