"""Backup of a ledger to one portable file, and restore into either database.

The file is text: a line about the ledger, then one line per row. It cannot be opened as a ledger,
because two ledgers on one data set would spend its budget twice; ``restore`` makes a ledger of it
and records that in a row of its own.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger.chain import Creation, Head, Restoration, Row, RowKind, link
from tacit.ledger.ledger import Ledger
from tacit.ledger.open import open_ledger, split
from tacit.ledger.verify import verify_rows

FORMAT = 1
_MARK = "tacit_ledger_backup"


@dataclass(frozen=True, slots=True)
class Backup:
    """A verified backup, in memory."""

    ledger_id: str
    creation: Creation
    rows: list[Row]

    @property
    def head(self) -> Head:
        """The newest row."""
        return Head.of(self.rows[-1])

    def lost_rows(self, known: Head | None) -> int | None:
        """Return how many rows up to the newest ``known`` head are missing, None if not known."""
        if known is None or known.seq < self.head.seq:
            if known is not None:
                verify_rows(self.rows, self.creation, known)
            return None  # an older head says nothing about rows after the backup
        if known.seq == self.head.seq:
            verify_rows(self.rows, self.creation, known)
        return known.seq - self.head.seq


def write_backup(ledger: Ledger, path: str | os.PathLike[str]) -> Head:
    """Write the ledger as it is at one moment to a new file, and return its head.

    The chain is verified while it is read. The file appears when it is complete, readable by its
    owner only; an existing file is left alone.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.accounting.budget import Budget
    >>> from tacit.ledger import SqliteLedger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = SqliteLedger(f"{folder.name}/a.sqlite", budget=Budget(1.0, 1e-5))
    >>> head = write_backup(ledger, f"{folder.name}/a.backup")
    >>> restore(f"{folder.name}/a.backup", f"{folder.name}/b.sqlite", known=head).seq
    1
    >>> ledger.close()
    >>> folder.cleanup()
    """
    with _new_file(Path(path)) as file, ledger.snapshot() as (creation, head, rows):
        first = {
            _MARK: FORMAT,
            "ledger_id": creation.ledger_id,
            "head": {"seq": head.seq, "hash": head.hash},
        }
        file.write(json.dumps(first) + "\n")
        verify_rows(_written(rows, file), creation, head)
    return head


def read_backup(path: str | os.PathLike[str]) -> Backup:
    """Return a backup once all of it has been verified.

    Raises
    ------
    InvalidArgument
        When the file is not a backup.
    LedgerCorrupt
        With the number of the first row that does not hold.
    """
    name = repr(os.fspath(path))
    try:
        lines = Path(path).read_text(encoding="ascii", errors="replace").splitlines()
        first = json.loads(lines[0])
        version, ledger_id, head = first[_MARK], str(first["ledger_id"]), Head(**first["head"])
    except OSError as error:
        raise InvalidArgument(f"The backup {name} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError, IndexError):
        raise InvalidArgument(f"{name} is not the backup of a ledger.") from None
    if version != FORMAT:
        raise InvalidArgument(
            f"{name} is a backup of format {version!r}; this version reads {FORMAT}."
        )
    rows = [_decoded(line, number) for number, line in enumerate(lines[1:])]
    backup = Backup(ledger_id, _creation(rows, ledger_id), rows)
    last = verify_rows(rows, backup.creation, head)
    if last.seq != head.seq:
        raise LedgerCorrupt(f"Row {last.seq} is beyond the head of the backup.", row=last.seq)
    return backup


def restore(
    path: str | os.PathLike[str],
    where: str | os.PathLike[str],
    *,
    known: Head | None = None,
    accept_lost_spend: bool = False,
) -> Head:
    """Make a ledger of a backup, in a place where there is none, and return its head.

    Parameters
    ----------
    path : path
        The backup.
    where : path or URL
        Of the new ledger: an SQLite file or a PostgreSQL database.
    known : Head, optional
        The newest exported head of the ledger. If the backup ends with it, nothing is lost.
    accept_lost_spend : bool, default False
        Needed in every other case: what was released after the backup is no longer counted, and
        the lifetime guarantee grows by the whole budget. The ledger says so from then on.

    Raises
    ------
    InvalidArgument
        When spend is lost and that was not accepted, or there is a ledger already.
    LedgerCorrupt
        When the backup does not hold.
    """
    backup = read_backup(path)
    lost = backup.lost_rows(known)
    if lost != 0 and not accept_lost_spend:
        missing = "an unknown number of rows" if lost is None else f"{lost} rows"
        raise InvalidArgument(
            f"The backup may be older than the ledger it replaces: {missing} would be lost, and "
            "with them what they spent. Give the newest head that was kept, if the backup ends "
            "with it; or accept the lost spend, which the restored ledger records and which adds "
            "its whole budget to the lifetime guarantee once more."
        )
    last = backup.rows[-1]
    record = link(last, RowKind.RESTORED, Restoration(lost).encode(last))
    _write_ledger(where, [*backup.rows, record])
    ledger = open_ledger(where)
    try:
        return ledger.verify(Head.of(record))
    finally:
        ledger.close()


def _write_ledger(where: str | os.PathLike[str], rows: list[Row]) -> None:
    scheme, place = split(os.fspath(where))
    if scheme == "memory":
        raise InvalidArgument("`where` must be a path or a URL of a ledger that lasts.")
    if scheme == "postgresql":
        from tacit.ledger.postgres import PostgresDatabase
        from tacit.ledger.sql import write_rows

        write_rows(PostgresDatabase(place, timeout=30.0), rows)
        return
    from tacit.ledger.sqlite import restore_file

    restore_file(place, rows)


def _creation(rows: list[Row], ledger_id: str) -> Creation:
    try:
        creation = Creation.decode(rows[0].body)
    except (ValueError, KeyError, TypeError, IndexError):
        creation = None
    if creation is None or creation.ledger_id != ledger_id:
        raise LedgerCorrupt("Row 0 of the backup is missing or another ledger's.", row=0)
    return creation


def _written(rows: Iterable[Row], file: IO[str]) -> Iterator[Row]:
    for row in rows:
        body = base64.b64encode(row.body).decode()
        fields = [row.seq, row.format_version, row.kind, row.owner, body, row.hash.hex()]
        file.write(json.dumps(fields) + "\n")
        yield row


def _decoded(line: str, number: int) -> Row:
    try:
        seq, version, kind, owner, body, digest = json.loads(line)
        numbers = (int(seq), int(version), int(kind), int(owner))
        return Row(*numbers, base64.b64decode(body, validate=True), bytes.fromhex(digest))
    except (ValueError, TypeError):
        raise LedgerCorrupt(f"Row {number} of the backup cannot be read.", row=number) from None


@contextmanager
def _new_file(path: Path) -> Iterator[IO[str]]:
    """Open a private file that appears under its name when the block ends without an error."""
    taken = InvalidArgument(f"{str(path)!r} exists; choose another name for the backup.")
    if path.exists():
        raise taken
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(
            unfinished,
            "x",
            encoding="ascii",
            opener=lambda name, flags: os.open(name, flags, 0o600),
        ) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(unfinished, path)  # unlike a rename it never replaces a file
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise LedgerUnavailable(
            f"The backup {str(path)!r} was not written: {error.strerror}."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)


def head_to_json(ledger_id: str, head: Head) -> dict[str, Any]:
    """Return a head as it is exported to a file."""
    return {"tacit_ledger_head": 1, "ledger_id": ledger_id, "seq": head.seq, "hash": head.hash}


def head_from_json(text: str) -> tuple[str, Head]:
    """Return the ledger's id and the head that ``head_to_json`` described."""
    try:
        fields = json.loads(text)
        if fields["tacit_ledger_head"] != 1 or len(bytes.fromhex(fields["hash"])) != 32:
            raise ValueError
        return str(fields["ledger_id"]), Head(int(fields["seq"]), str(fields["hash"]))
    except (ValueError, KeyError, TypeError):
        raise InvalidArgument("The file does not hold the head of a ledger.") from None
