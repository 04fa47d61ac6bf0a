"""A command as a report may show it: what decided the run, without places on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

_NOT_OF_THE_RUN = {
    "as_json", "config", "fresh", "jobs", "labels", "out", "project", "quiet", "report", "yes",
}  # fmt: skip


def redacted_command(ctx: click.Context) -> str:
    """Return the command line of a context, from flags and settings files alike.

    The private file is called PRIVATE, and other files are named without their folders, which may
    hold private information such as user names.
    """
    words = ["tacit", str(ctx.info_name), "PRIVATE"]
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        source = ctx.get_parameter_source(param.name or "")
        if not isinstance(param, click.Option) or param.name in _NOT_OF_THE_RUN:
            continue
        if value is None or source in (None, ParameterSource.DEFAULT):
            continue
        if param.is_flag:
            words += [param.opts[0]] if value else []
        elif param.multiple:
            for entry in value:
                words += [param.opts[0], shlex.quote(_text(entry, "="))]
        else:
            words += [param.opts[0], shlex.quote(_text(value, ","))]
    return " ".join(words)


def _text(value: Any, between: str) -> str:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, tuple | list):
        return between.join(str(entry) for entry in value)
    return str(value)
