"""The newest rows of an SQLite file, which are on no list yet: where this process remembers them.

Looking through them takes longer than all else that an answer does, so a process keeps their keys
in memory and reads only what others have added since. What it keeps holds up to one row, and the
hash of that row stands for every row before it: if the file has the row, all that is remembered is
true of the file, whoever else writes to it, and if not, all is forgotten.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Sequence

from tacit.ledger.chain import HASH_SIZE, Row
from tacit.ledger.schema import listed

_OWNER = operator.itemgetter(2, 3)
"""Of a row: kind and owner."""


class RecentRows:
    """Numbers of the rows beyond the lists, by kind, owner and key.

    For whoever holds the connection: one thread at a time.
    """

    __slots__ = ("_places", "newest")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Know nothing."""
        self.newest: Row | None = None
        self._places: dict[tuple[int, int], dict[bytes, int]] = {}

    def last_known(self, head: Row) -> int:
        """Return the row after which to read on, when ``head`` is the newest one."""
        on_lists = listed(head.seq)
        if self.newest is None or self.newest.seq < on_lists:
            self.forget()
            return on_lists
        return self.newest.seq

    def read(self, found: Iterable[tuple[int, int, bytes, int]], head: Row) -> None:
        """Learn the rows after ``last_known``: kind, owner, key and number of each."""
        for kind, owner, key, seq in found:
            self._places.setdefault((kind, owner), {})[key] = seq
        self.newest = head

    def add(self, rows: Sequence[Row], on_lists: int) -> None:
        """Learn rows that are being added after the newest one; if they are not, it will show.

        ``on_lists`` is the newest row that is on the lists once they are added.
        """
        self.newest = None  # an interrupt leaves nothing half known
        first, beyond = rows[0].seq, rows
        if on_lists >= first:
            self._places, beyond = {}, rows[on_lists + 1 - first :]
        for owner, some in itertools.groupby(beyond, _OWNER):
            keys = {body[:HASH_SIZE]: seq for seq, _, _, _, body, _ in some}
            self._places.setdefault(owner, {}).update(keys)
        self.newest = rows[-1]

    def places(self, kind: int, owner: int, keys: Collection[bytes]) -> list[int]:
        """Return the numbers of the recent rows of one kind and owner that have these keys."""
        known = self._places.get((kind, owner))
        if known is None or known.keys().isdisjoint(keys):
            return []
        return [known[key] for key in keys if key in known]
