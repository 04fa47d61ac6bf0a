"""Open a ledger by its path or URL."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from tacit import validation
from tacit.accounting.budget import Budget
from tacit.errors import InvalidArgument
from tacit.ledger.composition import Composition
from tacit.ledger.ledger import Ledger, check_fixed
from tacit.ledger.memory import MemoryLedger


def open_ledger(
    where: str | os.PathLike[str] | Ledger,
    *,
    budget: Budget | None = None,
    composition: Composition | str | None = None,
    allow_insecure: bool = False,
) -> Ledger:
    """Open a ledger by its path or URL; return a ``Ledger`` object as it is.

    Parameters
    ----------
    where : path, URL or Ledger
        A path is an SQLite file, created if it does not exist and ``budget`` is given. URLs:
        ``sqlite:///relative.sqlite``, ``sqlite:////absolute.sqlite``, ``memory:`` and
        ``postgresql://user@host/database`` (with the extra ``postgres``). An object with the
        methods of ``Ledger`` is returned as it is.
    budget : Budget, optional
        Lifetime budget: needed to create a ledger, checked against that of an existing one.
    composition : {"basic", "zcdp"}, optional
        As with ``budget``; "basic" for a new ledger.
    allow_insecure : bool, default False
        Whether answers from test noise may be recorded. An object has its own setting.

    Returns
    -------
    Ledger

    Examples
    --------
    >>> open_ledger("memory:", budget=Budget(1.0, 1e-5))
    MemoryLedger(budget=Budget(epsilon=1.0, delta=1e-05), composition='basic')
    """
    if composition is not None:
        composition = validation.choice(Composition, composition=composition)
    if isinstance(where, str | os.PathLike):
        return _open_named(os.fspath(where), budget, composition, allow_insecure)
    if not isinstance(where, Ledger):
        raise InvalidArgument(
            f"`ledger` must be a path, a URL or a Ledger, got a {type(where).__name__}."
        )
    check_fixed("budget", budget, where.budget)
    check_fixed("composition", composition, where.composition)
    return where


def _open_named(
    name: str, budget: Budget | None, composition: Composition | None, allow_insecure: bool
) -> Ledger:
    scheme, place = split(name)
    if scheme == "memory":
        if budget is None:
            raise InvalidArgument("`budget` must be given: an in-memory ledger is always new.")
        return MemoryLedger(
            budget, composition=composition or Composition.BASIC, allow_insecure=allow_insecure
        )
    options: dict[str, Any] = {
        "budget": budget, "composition": composition, "allow_insecure": allow_insecure
    }  # fmt: skip
    # Imported on first use: SQLAlchemy takes a while.
    if scheme == "sqlite":
        from tacit.ledger.sqlite import SqliteLedger

        return SqliteLedger(place, **options)
    from tacit.ledger.postgres import PostgresLedger

    return PostgresLedger(place, **options)


def split(name: str) -> tuple[str, str]:
    """Return the scheme ("sqlite", "postgresql" or "memory") and the path or URL."""
    if name in ("memory:", "memory://"):
        return "memory", ""
    if "://" not in name:
        return "sqlite", name
    url = urlsplit(name)
    if url.scheme in ("postgresql", "postgresql+psycopg", "postgres"):
        return "postgresql", name
    if url.scheme != "sqlite":
        raise InvalidArgument(
            f"`ledger` has the scheme {url.scheme!r}; this version supports 'sqlite', 'postgresql' "
            "and 'memory', and paths."
        )
    if url.netloc:
        raise InvalidArgument("`ledger` must have three slashes before its path: sqlite:///path.")
    # As elsewhere: three slashes for a relative path, four for an absolute one.
    return "sqlite", unquote(url.path[1:])
