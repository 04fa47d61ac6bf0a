"""Process-wide random generators, kept from carrying one shard's data to the next.

A learner without a ``random_state`` of its own draws from generators that all teachers of a
process share. How much one teacher draws depends on its records, so the next teacher's draws, and
votes, would depend on them too. Every fit and every predict therefore starts these generators from
a seed that is public, and the caller's streams are put back afterwards. (With joblib's threads,
learners that draw from process-wide generators still run side by side: use processes for those.)
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator

import numpy as np


def restart(seed: int) -> None:
    """Start the process-wide generators from a public seed."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


@contextlib.contextmanager
def preserve_global_random() -> Iterator[None]:
    """Put the caller's process-wide streams back on leaving."""
    plain, numbers = random.getstate(), np.random.get_state()
    torch = sys.modules.get("torch")
    tensors = None if torch is None else torch.random.get_rng_state()
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(numbers)
        if torch is not None and tensors is not None:
            torch.random.set_rng_state(tensors)
