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

from tacit.privacy.ledger.chain import HASH_SIZE, Row
from tacit.privacy.ledger.schema import listed

_OWNER = operator.attrgetter("kind", "owner")


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
            self._of(kind, owner)[key] = seq
        self.newest = head

    def add(self, rows: Sequence[Row]) -> None:
        """Learn rows that are being added after the newest one; if they are not, it will show."""
        self.newest = None  # an interrupt leaves nothing half known
        last = rows[-1]
        on_lists = listed(last.seq)
        beyond = rows
        if on_lists >= rows[0].seq:
            self._places = {}
            beyond = rows[on_lists + 1 - rows[0].seq :]
        if len(beyond) == 1:
            self._of(last.kind, last.owner)[last.body[:HASH_SIZE]] = last.seq
        else:
            for (kind, owner), some in itertools.groupby(beyond, _OWNER):
                self._of(kind, owner).update([(row.body[:HASH_SIZE], row.seq) for row in some])
        self.newest = last

    def _of(self, kind: int, owner: int) -> dict[bytes, int]:
        return self._places.setdefault((kind, owner), {})

    def places(self, kind: int, owner: int, keys: Collection[bytes]) -> list[int]:
        """Return the numbers of the recent rows of one kind and owner that have these keys."""
        known = self._places.get((kind, owner))
        if known is None or known.keys().isdisjoint(keys):
            return []
        return [known[key] for key in keys if key in known]
