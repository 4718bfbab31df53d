"""The command line, read as pflag reads it: `--name=value`, `--name value`, `--bool`, `-v4`, `_` for `-`, `--` ends.

No abbreviations. The first error ends parsing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapi.options.flag import Flag


class FlagError(Exception):
    """The command line cannot be read."""


@dataclass(slots=True, kw_only=True)
class Parsed:
    """What the command line says: values by flag, arguments that are no flags, notices about deprecated flags."""

    values: dict[str, Any] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def parse(flags: Iterable[Flag], arguments: Sequence[str]) -> Parsed:
    """Read the arguments. Raises FlagError."""
    return _Parser(flags).read(arguments)


class _Parser:
    def __init__(self, flags: Iterable[Flag]) -> None:
        self.long: dict[str, Flag] = {}
        self.short: dict[str, Flag] = {}
        for item in flags:
            for name in (item.name, *item.declared.also):
                self.long[name] = item
            if item.declared.short:
                self.short[item.declared.short] = item
        self.parsed = Parsed()

    def read(self, arguments: Sequence[str]) -> Parsed:
        rest = list(arguments)
        while rest:
            argument = rest.pop(0)
            if argument == "--":
                self.parsed.arguments += rest
                break
            if argument.startswith("--"):
                self._read_long(argument, rest)
            elif argument.startswith("-") and len(argument) > 1:
                self._read_shorts(argument[1:], rest)
            else:
                self.parsed.arguments.append(argument)
        return self.parsed

    def _read_long(self, argument: str, rest: list[str]) -> None:
        if argument[2] in "-=":
            raise FlagError(f"bad flag syntax: {argument}")
        name, equals, value = argument[2:].partition("=")
        normal = name.replace("_", "-")
        item = self.long.get(normal)
        if item is None:
            raise FlagError(f"unknown flag: --{name}")
        if not equals:
            if item.declared.kind.bare:
                value = item.declared.kind.bare
            elif rest:
                value = rest.pop(0)
            else:
                raise FlagError(f"flag needs an argument: --{name}")
        self._set(item, value, normal)

    def _read_shorts(self, shorts: str, rest: list[str]) -> None:
        while shorts:
            letter, shorts, given = shorts[0], shorts[1:], shorts
            item = self.short.get(letter)
            if item is None:
                raise FlagError(f"unknown shorthand flag: '{letter}' in -{given}")
            if len(shorts) > 1 and shorts[0] == "=":
                value, shorts = shorts[1:], ""
            elif item.declared.kind.bare:
                value = item.declared.kind.bare
            elif shorts:
                value, shorts = shorts, ""
            elif rest:
                value = rest.pop(0)
            else:
                raise FlagError(f"flag needs an argument: '{letter}' in -{given}")
            self._set(item, value, item.name)

    def _set(self, item: Flag, text: str, name: str) -> None:
        declared = item.declared
        try:
            value = declared.kind.parse(text)
        except ValueError as error:
            shown = f"-{declared.short}, --{name}" if declared.short else f"--{name}"
            raise FlagError(f'invalid argument "{text}" for "{shown}" flag: {error}') from None
        values = self.parsed.values
        if declared.kind.join is not None and item.name in values:
            value = declared.kind.join(values[item.name], value)
        values[item.name] = value
        if name != item.name:
            self.parsed.notices.append(f"Flag --{name} has been deprecated, use --{item.name}")
        elif declared.deprecated:
            self.parsed.notices.append(f"Flag --{name} has been deprecated, {declared.deprecated}")
