"""The labelling service of a pool: what threads that share one may not do."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tacit.accounting.answer import Output
from tacit.accounting.budget import Budget
from tacit.labeling import FilteredPoolLabeler
from tacit.ledger import MemoryLedger
from tacit.mechanisms.counts import VoteCounts
from tacit.noise import SecureNoise


def test_what_a_filter_has_left_is_read_and_spent_by_one_thread_at_a_time():
    together = threading.Barrier(2)
    met = []

    def rule(labels, size, even):
        try:
            together.wait(timeout=0.2)
            met.append(size)
        except threading.BrokenBarrierError:
            together.reset()
        return even

    service = FilteredPoolLabeler(
        VoteCounts([[90, 10]] * 8, 100),
        [b"%d" % row for row in range(8)],
        rule,
        budget=Budget(1.0, 1e-5),
        planned=8,
        ledger=MemoryLedger(Budget(9.0, 1e-5), composition="zcdp"),
        noise=SecureNoise(),
        output=Output.LABEL,
        key="threads",
    )
    with ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(service.ask, [np.arange(4), np.arange(4, 8)]))
    assert not met and [len(found) for found in answers] == [4, 4]
