"""Backup of a ledger to one portable file, and restore into either database.

The file is text: a line about the ledger, then one line per row. It cannot be opened as a ledger,
because two ledgers on one data set would spend its budget twice; ``restore`` makes a ledger of it
and records that in a row of its own.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tacit.errors import InvalidArgument, LedgerCorrupt, LedgerUnavailable
from tacit.ledger.base import BaseLedger
from tacit.ledger.chain import Creation, Kind, Restoration, Row, link
from tacit.ledger.open import open_ledger, postgres, split
from tacit.ledger.protocol import Head
from tacit.ledger.verify import verify_rows

FORMAT = 1
_MARK = "tacit_ledger_backup"


@dataclass(frozen=True, slots=True)
class Backup:
    """What the first line of a backup says."""

    path: Path
    ledger_id: str
    head: Head

    def rows(self) -> Iterator[Row]:
        """Return the rows, read from the file as they are needed."""
        try:
            with open(self.path, encoding="ascii", errors="replace") as file:
                next(file)
                for number, line in enumerate(file):
                    yield _decoded(line, number)
        except OSError as error:
            raise _unreadable(self.path, error) from error


def write_backup(ledger: BaseLedger, path: str | os.PathLike[str]) -> Head:
    """Write the ledger as it is at one moment to a new file, and return its head.

    The chain is verified on the way. The file appears when it is complete, readable by its owner
    only; one that is there already is left alone.

    Examples
    --------
    >>> import tempfile
    >>> from tacit.privacy.budget import Budget
    >>> from tacit.ledger import SqliteLedger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = SqliteLedger(f"{folder.name}/a.sqlite", budget=Budget(1.0, 1e-5))
    >>> head = write_backup(ledger, f"{folder.name}/a.backup")
    >>> restore(f"{folder.name}/a.backup", f"{folder.name}/b.sqlite", known=head).seq
    1
    >>> ledger.close()
    >>> folder.cleanup()
    """
    path = Path(path)
    with _new_file(path) as file, ledger.snapshot() as (creation, newest, rows):
        first = {
            _MARK: FORMAT,
            "ledger_id": creation.ledger_id,
            "head": {"seq": newest.seq, "hash": newest.hash},
        }
        file.write(json.dumps(first) + "\n")
        verify_rows(_written(rows, file), creation, newest)
    return newest


def read_backup(path: str | os.PathLike[str]) -> Backup:
    """Return a backup once all of it has been checked.

    Raises
    ------
    InvalidArgument
        When the file is no backup.
    LedgerCorrupt
        With the number of the first row that does not hold.
    """
    path = Path(path)
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            first = json.loads(file.readline(10_000))
        backup = Backup(path, str(first["ledger_id"]), Head(**first["head"]))
        version = first[_MARK]
    except OSError as error:
        raise _unreadable(path, error) from error
    except (ValueError, KeyError, TypeError):
        raise InvalidArgument(f"{str(path)!r} is not the backup of a ledger.") from None
    if version != FORMAT:
        raise InvalidArgument(
            f"{str(path)!r} is a backup of format {version!r}; this version reads {FORMAT}."
        )
    last = verify_rows(backup.rows(), _creation(backup), backup.head)
    if last.seq != backup.head.seq:
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
        Where the ledger shall be: an SQLite file or a PostgreSQL database.
    known : Head, optional
        The newest head that was kept of the ledger. If the backup ends with it, nothing is lost.
    accept_lost_spend : bool, default False
        Needed in every other case: what was released after the backup is not counted any more, and
        the lifetime guarantee grows by the whole budget. The ledger says so from then on.

    Raises
    ------
    InvalidArgument
        When spend is lost and that was not accepted, or there is a ledger already.
    LedgerCorrupt
        When the backup does not hold.
    """
    backup = read_backup(path)
    lost = _lost(backup, known)
    if lost != 0 and not accept_lost_spend:
        missing = "an unknown number of rows" if lost is None else f"{lost} rows"
        raise InvalidArgument(
            f"The backup may be older than the ledger it replaces: {missing} would be lost, and "
            "with them what they spent. Give the newest head that was kept, if the backup ends "
            "with it; or accept the lost spend, which the restored ledger records and which adds "
            "its whole budget to the lifetime guarantee once more."
        )
    last = next(row for row in backup.rows() if row.seq == backup.head.seq)
    record = link(last, Kind.RESTORED, Restoration(lost).encode(last))
    _fill(where, itertools.chain(backup.rows(), [record]))
    ledger = open_ledger(where)
    try:
        return ledger.verify(Head(record.seq, record.hash.hex()))
    finally:
        ledger.close()


def _lost(backup: Backup, known: Head | None) -> int | None:
    if known is None:
        return None
    if known.seq <= backup.head.seq:
        verify_rows(backup.rows(), _creation(backup), known)
    # An older head than the backup's does not tell what came after the backup.
    return known.seq - backup.head.seq if known.seq >= backup.head.seq else None


def _fill(where: str | os.PathLike[str], rows: Iterator[Row]) -> None:
    scheme, place = split(os.fspath(where))
    if scheme == "memory":
        raise InvalidArgument("`where` must be a path or a URL of a ledger that lasts.")
    if scheme == "postgresql":
        from tacit.ledger.sql import write_rows

        write_rows(postgres().PostgresDatabase(place, timeout=30.0), rows)
        return
    from tacit.ledger.sqlite import restore_file

    restore_file(place, rows)


def _creation(backup: Backup) -> Creation:
    first = next(backup.rows(), None)
    try:
        creation = None if first is None else Creation.decode(first.body)
    except (ValueError, KeyError, TypeError):
        creation = None
    if creation is None or creation.ledger_id != backup.ledger_id:
        raise LedgerCorrupt("Row 0 of the backup is missing or another ledger's.", row=0)
    return creation


# -- lines ---------------------------------------------------------------------------------------


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


def _unreadable(path: Path, error: OSError) -> InvalidArgument:
    return InvalidArgument(f"The backup {str(path)!r} cannot be read: {error.strerror}.")


@contextmanager
def _new_file(path: Path) -> Iterator[IO[str]]:
    """Open a file that appears under its name when the block is left without an error."""
    taken = InvalidArgument(f"{str(path)!r} exists; choose another name for the backup.")
    if path.exists():
        raise taken
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "x", encoding="ascii", opener=_private) as file:
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


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def head_to_json(ledger_id: str, head: Head) -> dict[str, Any]:
    """Return a head as it is kept in a file."""
    return {"tacit_ledger_head": 1, "ledger_id": ledger_id, "seq": head.seq, "hash": head.hash}


def head_from_json(text: str) -> tuple[str, Head]:
    """Return the ledger's name and the head that ``head_to_json`` described."""
    try:
        fields = json.loads(text)
        if fields["tacit_ledger_head"] != 1 or len(bytes.fromhex(fields["hash"])) != 32:
            raise ValueError
        return str(fields["ledger_id"]), Head(int(fields["seq"]), str(fields["hash"]))
    except (ValueError, KeyError, TypeError):
        raise InvalidArgument("The file does not hold the head of a ledger.") from None
