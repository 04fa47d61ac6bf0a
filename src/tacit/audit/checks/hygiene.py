"""What may be seen: no repr, message or log holds a private number."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tacit.accounting.answer import Output
from tacit.audit.checks.findings import (
    Findings,
    voting,
)
from tacit.audit.noise import SeededNoise
from tacit.audit.subjects import (
    Subject,
)
from tacit.errors import TacitError
from tacit.mechanisms import (
    VoteCounts,
    VoteMechanism,
)

__all__ = ["CANARY_TEACHERS", "canary", "check_hygiene", "shows"]

CANARY_TEACHERS = 7919


class _LogRecorder(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(record.getMessage())


def canary(n_classes: int) -> tuple[VoteCounts, tuple[str, ...]]:
    """Return votes with telling numbers, and what must not be seen of them."""
    row = [4463, CANARY_TEACHERS - 4463] + [0] * (n_classes - 2)
    if n_classes > 2:
        row[1] -= 1287
        row[2] += 1287
    margin = row[0] - sorted(row)[-2]
    private = {str(count) for count in row if count} | {str(margin), str((margin + 1) // 2 - 1)}
    return VoteCounts([row], n_teachers=CANARY_TEACHERS), tuple(private)


def shows(texts: Iterable[str], private: Iterable[str]) -> bool:
    """Whether a private number stands in one of the texts; addresses of objects do not count."""
    plain = [re.sub(r"0x[0-9a-fA-F]+", "", text) for text in texts]
    # Whole numbers only: 503 does not stand in a public epsilon of 5.556075067725033.
    patterns = [re.compile(rf"(?<![\d.]){re.escape(number)}(?!\d)") for number in private]
    return any(pattern.search(text) for text in plain for pattern in patterns)


def check_hygiene(subject: Subject, findings: Findings, seed: int) -> None:
    """No repr, message or log shows a count, a margin or a distance."""
    mechanism = voting(subject)
    counts, private = canary(mechanism.n_classes)
    records, root = _LogRecorder(), logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(0)
    try:
        run = mechanism.start(noise=SeededNoise(seed))
        texts = [
            repr(counts),
            str(counts),
            f"{counts}",
            repr(counts[:1]),
            repr(run),
            repr(mechanism),
        ]
        texts += _messages(mechanism, counts, private)
        answers = run.release(counts)
        texts += [repr(run), str(run)]
        if mechanism.output is not Output.SHARE:
            texts += [repr(answers), str(answers)]
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    findings.require(
        "hygiene",
        not shows(texts + records.text, private),
        "a text that may be shown or logged holds a private count or margin",
    )


def _messages(mechanism: VoteMechanism, counts: VoteCounts, private: Sequence[str]) -> list[str]:
    """Return the messages of errors about private votes."""
    array = counts.private_array()
    wrong_sum, wrong_width = array.copy(), np.hstack([array, np.zeros((1, 1), dtype=np.int64)])
    wrong_sum[0, 0] += 1
    attempts: list[Callable[[], object]] = [
        lambda: VoteCounts(wrong_sum, n_teachers=CANARY_TEACHERS),
        lambda: VoteCounts(-array, n_teachers=CANARY_TEACHERS),
        lambda: VoteCounts(array + 0.5, n_teachers=CANARY_TEACHERS),
        lambda: mechanism.release(
            VoteCounts(wrong_width, n_teachers=CANARY_TEACHERS), noise=SeededNoise(0)
        ),
        lambda: np.asarray(counts),
    ]
    messages = []
    for attempt in attempts:
        try:
            attempt()
        except TacitError as error:
            messages.append(f"{error} {error!r}")
        else:
            messages.append(" ".join(private))  # it should have refused: reported as a leak
    return messages
