"""`docs/flags.md`, written from the declarations: `python -m kapi.options.reference > docs/flags.md`.

A test compares the two, so a flag cannot be added or change its standing without the page saying so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from kapi.options.flag import Flag, Later, Refused, Supported
from kapi.options.server_run_options import all_flags

_INTRODUCTION = """\
# Flags of kube-apiserver

Every flag of kube-apiserver 1.37, those of older releases that scripts still pass, and kapi's own. This page is written
by `python -m kapi.options.reference`; the declarations are in `src/kapi/options`, one file for each section.

Syntax is that of the Go binary: `--name=value` or `--name value`, `--bool` or `--bool=false`, `-v 4`, `-v=4` or `-v4`,
`_` counts as `-` in names, `--` ends the flags. Durations are Go's (`1h30m`, `250ms`). Lists are comma separated, and
a repeated list flag adds to itself.

Nothing is silently ignored. A flag is one of:

- **supported**: it does what it says;
- **later**: accepted and checked, because every real start script passes it, but its mechanism is still to come. A
  warning at start names each such flag that was given, and what happens meanwhile;
- **refused**: an error when it is set to anything but its default, because its mechanism is not there yet or never
  will be.

All errors are printed at once, one line each; the exit status is then 1.

`--version` prints `Kubernetes v1.37.0`, as scripts expect; `/version` says the same in `gitVersion`. The first line of
the log names both that version and kapi's own.
"""

_IN_PART = """\
In part: `--storage-media-type` with an explicit `application/vnd.kubernetes.protobuf` (objects are stored as JSON for
now). `--feature-gates` knows every gate; one that concerns the API server can be changed if it is among the switches of
`src/kapi/api/gated.py`. An emulated version (`--emulated-version`, 1.34 to 1.37) sets those switches, leaves out the
APIs that were introduced after it, and is told by `/version`. `--runtime-config` turns off what is served, but turns on
no version that kapi does not have.
"""


def page() -> str:
    flags = all_flags()
    parts = [_INTRODUCTION, *_later(flags), *_refused(flags), *_old_names(flags)]
    for section in dict.fromkeys(item.section for item in flags):
        parts.append(f"## {section[0].upper()}{section[1:]} flags\n")
        parts.append("| flag | type | default | what | |\n|---|---|---|---|---|")
        members = sorted((item for item in flags if item.section == section), key=lambda item: item.name)
        parts += [_row(item) for item in members]
        parts.append("")
    return "\n".join(parts)


def _later(flags: Iterable[Flag]) -> Iterator[str]:
    yield "## Accepted, takes effect later\n"
    yield "| flag | meanwhile | values that agree with that |\n|---|---|---|"
    for item in flags:
        if isinstance(standing := item.declared.standing, Later):
            yield f"| `--{item.name}` | {standing.meanwhile} | {_values(item, standing.agrees)} |"
    yield ""


def _refused(flags: Iterable[Flag]) -> Iterator[str]:
    yield "## Refused\n"
    yield _IN_PART
    yield "| flag | why | accepted values, beside the default |\n|---|---|---|"
    for item in flags:
        if isinstance(standing := item.declared.standing, Refused):
            yield f"| `--{item.name}` | {standing.reason} | {_values(item, standing.agrees)} |"
    yield ""


def _old_names(flags: Iterable[Flag]) -> Iterator[str]:
    yield "## Older names\n"
    yield "| name | the same as |\n|---|---|"
    for item in flags:
        for name in item.declared.also:
            yield f"| `--{name}` | `--{item.name}` |"
    yield ""


def _row(item: Flag) -> str:
    declared = item.declared
    name = f"`-{declared.short}`, `--{item.name}`" if declared.short else f"`--{item.name}`"
    default = declared.kind.show(declared.default) if declared.default != declared.kind.zero else ""
    text = declared.help + (f" Deprecated: {declared.deprecated}." if declared.deprecated else "")
    if isinstance(declared.standing, Supported) and declared.standing.note:
        text += f" Here {declared.standing.note}."
    standing = {Supported: "supported", Later: "later", Refused: "refused"}[type(declared.standing)]
    shown = f"`{default}`" if default else ""
    return f"| {name} | {declared.kind.name} | {shown} | {_escaped(text)} | {standing} |"


def _values(item: Flag, values: tuple[object, ...]) -> str:
    return ", ".join(f"`{item.declared.kind.show(value)}`" for value in values)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.stdout.write(page())
