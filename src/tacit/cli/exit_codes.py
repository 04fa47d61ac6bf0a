"""How commands on private data end early: in one line, which holds nothing of a record."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tacit.errors import TacitError

INTERRUPTED = 130
DEFECT = 70


class _Defect(click.ClickException):
    exit_code = DEFECT


@contextmanager
def one_line_errors(
    left: str = "Nothing was written; what was released is on the ledger.",
) -> Iterator[None]:
    """End in one line, whatever happens; an error that is not ours may quote private values.

    ``left`` says what a defect leaves behind.
    """
    try:
        yield
    except (TacitError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except KeyboardInterrupt:
        click.echo(
            "\nInterrupted. Existing results are unchanged; run the same command again to resume.",
            err=True,
        )
        raise click.exceptions.Exit(INTERRUPTED) from None
    except BaseException as error:  # also what is no Exception: a traceback would show its text
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise _Defect(
            f"Unexpected {type(error).__name__} in {Path(where.filename).name}, line "
            f"{where.lineno}. Its text may hold private values and is not shown. {left}"
        ) from None
