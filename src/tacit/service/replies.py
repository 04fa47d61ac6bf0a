"""Responses: answers as JSON whose length is the same for an answer and a refusal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from tacit.accounting.answer import Answer


class Replies:
    """Writes answers; every answer takes as many bytes as the longest label would.

    Parameters
    ----------
    classes : array of labels
        Public.

    Examples
    --------
    >>> import numpy as np
    >>> replies = Replies(np.array(["no", "perhaps"]))
    >>> sorted({len(text) for text in replies.texts})
    [38]
    """

    def __init__(self, classes: NDArray[Any]) -> None:
        self.labels: list[Any] = classes.tolist()
        written = [_one(label) for label in (None, *self.labels)]
        longest = max(map(len, written))
        # JSON allows spaces between values: encrypted or not, the length says nothing.
        self.texts = [text.ljust(longest) for text in written]

    def body(self, answers: Sequence[Answer], n_questions: int) -> bytes:
        """Return the body of a response to so many questions."""
        parts = [self.texts[0 if a.label is None else 1 + a.label] for a in answers]
        complete = "true " if len(answers) == n_questions else "false"
        return f'{{"answers": [{", ".join(parts)}], "complete": {complete}}}'.encode()


def _one(label: Any) -> str:
    refused = "true" if label is None else "false"
    return f'{{"label": {json.dumps(label)}, "refused": {refused}}}'
