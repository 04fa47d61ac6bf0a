"""What stands in for a ledger in a pickled model."""

from __future__ import annotations


class LeftBehind:
    """In the place of a ledger in a pickled model: fitting again without one is refused."""

    def __repr__(self) -> str:
        return "<ledger left behind>"
