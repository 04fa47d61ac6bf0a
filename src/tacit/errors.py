"""Every exception that tacit raises on purpose.

The whole tree::

    TacitError
    ├── InvalidArgument     (also ValueError)           a bad argument: name, rule, value, next step
    ├── UnsupportedEvent    (also NotImplementedError)  no accountant here prices this event
    ├── BudgetExceeded                                  the release does not fit what is left
    │   ├── AllowanceExceeded                           analyst's allowance exceeded
    │   └── MechanismStopped                            the planned number of answers is used up
    ├── NoiseError          (also RuntimeError)         secure noise is missing or was misused
    ├── PrivateValueError   (also TypeError)            an unreleased value was about to get out
    ├── DataUnavailable     (also FileNotFoundError)    a data set file is missing or damaged
    ├── WorkersFailed       (also RuntimeError)         no worker can do what it is sent
    ├── PersistenceError                                a model cannot be saved or loaded
    │   ├── DamagedFile                                 what was saved was changed, or part is gone
    │   ├── ExposedFiles                                private files are open to other users
    │   ├── SavedFormatError                            not tacit's, or of another version
    │   └── UntrustedTypes                              it holds types that are not trusted
    └── LedgerError
        ├── LedgerUnavailable                           it cannot be opened, read or written
        ├── LedgerCorrupt                               a row was changed, removed or reordered
        └── LedgerFormatError                           written by another version of the format

and one warning, ``LearnerBottleneckWarning``.

Messages pass the privacy door too: none of them holds counts, records, margins or anything else
that depends on private data.
"""

from __future__ import annotations

__all__ = [
    "AllowanceExceeded",
    "BudgetExceeded",
    "DamagedFile",
    "DataUnavailable",
    "ExposedFiles",
    "InvalidArgument",
    "LearnerBottleneckWarning",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerFormatError",
    "LedgerUnavailable",
    "MechanismStopped",
    "NoiseError",
    "PersistenceError",
    "PrivateValueError",
    "SavedFormatError",
    "TacitError",
    "UnsupportedEvent",
    "UntrustedTypes",
    "WorkersFailed",
]


class TacitError(Exception):
    """Root of every error raised by tacit."""


class InvalidArgument(TacitError, ValueError):
    """An argument breaks its rule; the message names it, the rule, and the value received."""


class UnsupportedEvent(TacitError, NotImplementedError):
    """The accountant asked has no proven price for this event."""


class BudgetExceeded(TacitError):
    """The release does not fit in what is left of the budget; nothing was drawn or spent."""


class AllowanceExceeded(BudgetExceeded):
    """The answers go beyond what an analyst may be shown now; nothing was drawn or shown."""


class MechanismStopped(BudgetExceeded):
    """The run has given all the answers (or refusals) it was planned for."""


class NoiseError(TacitError, RuntimeError):
    """Secure randomness is missing, or a noise source was copied, pickled or shared wrongly."""


class PrivateValueError(TacitError, TypeError):
    """An unreleased private value was about to be printed, compared, converted or saved."""


class DataUnavailable(TacitError, FileNotFoundError):
    """A data set file is not on this machine, cannot be fetched, or fails its checksum."""


class WorkersFailed(TacitError, RuntimeError):
    """Workers cannot be reached, lack something or find no shards; nothing was released."""


class PersistenceError(TacitError):
    """A model cannot be saved or loaded; nothing that was complete is lost."""


class DamagedFile(PersistenceError):
    """A checksum fails, a file is missing or one too many: nothing was loaded."""


class ExposedFiles(PersistenceError):
    """Other users can read or change private files; the message has the command that helps."""


class SavedFormatError(PersistenceError):
    """The file was not written by tacit, or in a format this version does not read."""


class UntrustedTypes(PersistenceError):
    """The file holds types that are not trusted; the message lists them, none was loaded."""


class LedgerError(TacitError):
    """Root of what can go wrong with a ledger."""


class LedgerUnavailable(LedgerError):
    """The ledger cannot be opened, locked, read or written; nothing was released."""


class LedgerCorrupt(LedgerError):
    """The ledger's hash chain does not hold: a row was changed, removed or reordered.

    ``row`` is the number of the first row that does not hold, where it is known.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class LedgerFormatError(LedgerError):
    """The ledger was written in a format this version does not read."""


class LearnerBottleneckWarning(UserWarning):
    """The learner is what limits this run; the message says what does better, with figures."""
