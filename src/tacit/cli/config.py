"""Options from files: ``--config FILE``, and the tables of a project's ``tacit.toml``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from tacit.errors import InvalidArgument


class Names(click.ParamType):  # type: ignore[type-arg]
    """A list of texts: separated by commas, or a list in a configuration file."""

    name = "a,b,..."

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, ...]:
        """Return the texts, without the space around them."""
        if isinstance(value, str):
            value = value.split(",")
        return tuple(name.strip() for name in value)


class Assignment(click.ParamType):  # type: ignore[type-arg]
    """``key=value``, where the value is a Python literal or else a text."""

    name = "key=value"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, Any]:
        """Return key and value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or not key.strip().isidentifier():
            self.fail(f"{value!r} is not of the form key=value.", param, ctx)
        try:
            return key.strip(), ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return key.strip(), text


class NumberOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A positive whole number, or ``auto``."""

    name = "number|auto"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        """Return the number, or "auto"."""
        if value == "auto":
            return "auto"
        number: int = click.IntRange(1).convert(value, param, ctx)
        return number


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--project`` and ``--config`` to a command; flags win over them."""
    for option in (
        click.option("--config", type=click.Path(path_type=Path), is_eager=True,
                     expose_value=False, callback=_from_file,
                     help="TOML file with these options, by name without the dashes."),
        click.option("--project", type=click.Path(path_type=Path), default=Path(), is_eager=True,
                     callback=_from_project, show_default="here",
                     help="Folder made by tacit init; its tacit.toml may hold options too."),
    ):  # fmt: skip
        command = option(command)
    return command


def _from_file(ctx: click.Context, _: Any, path: Path | None) -> None:
    if path is None:
        return
    from tacit.project.folder import read_toml

    sections = read_toml(path, missing=f"There is no file {str(path)!r}.")
    nested = sections.get(str(ctx.info_name))
    options = nested if isinstance(nested, dict) else sections
    ctx.default_map = {**(ctx.default_map or {}), **_read(ctx, options, str(path))}


def _from_project(ctx: click.Context, _: Any, folder: Path) -> Path:
    from tacit.project.folder import SETTINGS, read_toml

    try:
        there = (folder / SETTINGS).is_file()
    except (OSError, ValueError):
        there = False
    if there:
        options = read_toml(folder / SETTINGS, missing="").get(str(ctx.info_name), {})
        if not isinstance(options, dict):
            raise InvalidArgument(f"[{ctx.info_name}] in {SETTINGS} must be a table.")
        ctx.default_map = {**_read(ctx, options, SETTINGS), **(ctx.default_map or {})}
    return folder


def _read(ctx: click.Context, options: Mapping[str, Any], where: str) -> dict[str, Any]:
    parameters = {
        param.name: param for param in ctx.command.params if param.name not in _NOT_IN_FILES
    }
    values = {}
    for key, value in options.items():
        name = _SPELT.get(key, key.replace("-", "_"))
        param = parameters.get(name)
        if param is None:
            listed = ", ".join(sorted(str(name) for name in parameters))
            raise InvalidArgument(f"{where!r}: no option {key!r} here. Known: {listed}.")
        values[name] = _value(param, value, f"{where!r}: {key!r}")
    return values


_NOT_IN_FILES = ("config", "project", "yes", "help")
_SPELT = {"json": "as_json"}


def _value(param: click.Parameter, value: Any, where: str) -> Any:
    """Return a value as it would stand on the command line."""
    if getattr(param, "is_flag", False):
        if not isinstance(value, bool):
            raise InvalidArgument(f"{where} must be true or false, got {value!r}.")
        return value
    if getattr(param, "multiple", False):
        if isinstance(value, dict):
            return [f"{key}={one!r}" for key, one in value.items()]
        if isinstance(value, list):
            return [str(one) for one in value]
    if isinstance(param.type, Names) and isinstance(value, list):
        return [str(one) for one in value]
    if isinstance(value, list | dict):
        raise InvalidArgument(f"{where} must be one value, got {value!r}.")
    return [str(value)] if getattr(param, "multiple", False) else str(value)
