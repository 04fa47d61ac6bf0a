"""The project folder: settings in ``tacit.toml``, and everything private in ``.tacit``.

A private data set is a name with a ledger. It is never recognised by its content: one changed row
would pass for a new data set with a fresh budget, and a hash of private data can be searched.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument, PersistenceError
from tacit.files.atomic import replace_file
from tacit.files.private import DIRECTORY_MODE, PrivateDirectory
from tacit.ledger import Ledger, open_ledger
from tacit.ledger.composition import Amount
from tacit.project.runs import RunFolder, run_name

SETTINGS = "tacit.toml"
PRIVATE = ".tacit"
FORMAT = 1

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FIRST_SETTINGS = f"""\
# A tacit project. Private data sets, with their ledgers, are in .tacit: back it up, never copy it.
format = {FORMAT}

# Options of commands, as on the command line without the dashes; flags given there win.
# [fit]
# learner = "boosting"
# classes = ["no", "yes"]
"""


@dataclass(frozen=True)
class DatasetAccount:
    """What a data set may spend, has promised, and has left. Public."""

    name: str
    budget: Budget
    reserved: Amount
    remaining: Amount
    unfinished: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {
            "name": self.name,
            "budget": _plain(self.budget),
            "reserved": _plain(self.reserved),
            "remaining": _plain(self.remaining),
            "unfinished_runs": self.unfinished,
        }


class Project:
    """A project that is there.

    Parameters
    ----------
    folder : Path

    Raises
    ------
    InvalidArgument
        When it is no project.
    ExposedFiles
        When other users can read its private part.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     project = Project.create(Path(place) / "study")
    ...     project.add("patients", Budget(2.0, 1e-5))
    ...     project.account("patients").remaining
    Amount(epsilon=2.0, delta=1e-05, rho=None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = read_toml(folder / SETTINGS, missing=f"{str(folder)!r} is not a tacit project. "
                          "Make one: tacit init")  # fmt: skip
        if settings.get("format") != FORMAT:
            raise InvalidArgument(
                f"{str(folder / SETTINGS)!r} must have format = {FORMAT}, got "
                f"{settings.get('format')!r}."
            )
        self.settings = {name: value for name, value in settings.items() if name != "format"}
        PrivateDirectory(self._private).close()

    @classmethod
    def create(cls, folder: Path) -> Project:
        """Make a project; a folder that does not exist is made readable by its owner alone."""
        if (folder / SETTINGS).exists():
            raise InvalidArgument(f"{str(folder)!r} is a tacit project already.")
        try:
            folder.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            for name in ("", "ledgers", "runs"):
                subfolder = folder / PRIVATE / name
                subfolder.mkdir(mode=DIRECTORY_MODE, exist_ok=True)
                subfolder.chmod(DIRECTORY_MODE)
        except OSError as error:
            raise PersistenceError(
                f"{str(folder)!r} cannot be made a project: {error.strerror}."
            ) from None
        # Last: what has no settings file is no project yet, and can be made one again.
        replace_file(folder / SETTINGS, _FIRST_SETTINGS.encode())
        return cls(folder)

    @property
    def _private(self) -> Path:
        return self.folder / PRIVATE

    def _ledger_file(self, name: str) -> Path:
        return self._private / "ledgers" / f"{checked_name(name)}.sqlite"

    def add(self, name: str, budget: Budget, composition: str = "basic") -> None:
        """Name a private data set and fix what may ever be spent on it."""
        if self._ledger_file(name).exists():
            raise InvalidArgument(
                f"The data set {name!r} is there already, with a budget for its lifetime. Another "
                "name is for other people's data."
            )
        open_ledger(self._ledger_file(name), budget=budget, composition=composition).close()

    def names(self) -> list[str]:
        """Return the names of all data sets."""
        return sorted(file.stem for file in (self._private / "ledgers").glob("*.sqlite"))

    def ledger(self, name: str) -> Ledger:
        """Return the account of a data set."""
        file = self._ledger_file(name)
        if not file.exists():
            names = ", ".join(self.names()) or "none yet"
            raise InvalidArgument(
                f"There is no data set {name!r} in this project; known: {names}. Add it once, with "
                f"its budget: tacit datasets add {name} --epsilon E --delta D"
            )
        return open_ledger(file)

    def account(self, name: str) -> DatasetAccount:
        """Return what a data set has spent and has left."""
        ledger = self.ledger(name)
        try:
            unfinished = len(self._runs(name))
            return DatasetAccount(
                name, ledger.budget, ledger.reserved(), ledger.remaining(), unfinished
            )
        finally:
            ledger.close()

    def _runs(self, name: str) -> list[Path]:
        return sorted((self._private / "runs").glob(f"{name}.*.run"))

    def run(self, name: str, settings: dict[str, Any], *, fresh: bool = False) -> RunFolder:
        """Return the run with these public settings: a new one, or one that was interrupted."""
        place = self._private / "runs" / run_name(checked_name(name), settings)
        return RunFolder(place, fresh=fresh)

    def discard(self, name: str) -> int:
        """Remove what unfinished runs of a data set kept; what they reserved stays reserved."""
        self.ledger(name).close()
        runs = self._runs(name)
        for run in runs:
            with RunFolder(run, fresh=True) as opened:
                opened.discard()
        return len(runs)

    def __repr__(self) -> str:
        return f"Project({str(self.folder)!r})"


def checked_name(name: str) -> str:
    """Return the name of a data set."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(
            "A data set's name must have letters, digits, - and _ only, at most 64, and start with "
            f"a letter or digit, got {name[:80]!r}."
        )
    return name


def read_toml(path: Path, *, missing: str) -> dict[str, Any]:
    """Return a TOML file's tables."""
    try:
        if path.stat().st_size > 1 << 20:
            raise InvalidArgument(f"{str(path)!r} is too large for a file of settings.")
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidArgument(missing) from None
    except OSError as error:
        raise InvalidArgument(
            f"{str(path)!r} cannot be read: {os.strerror(error.errno or 0)}."
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(f"{str(path)!r} is not TOML: {error}.") from None


def _plain(amount: Amount | Budget) -> dict[str, float]:
    return {"epsilon": amount.epsilon, "delta": amount.delta}
