"""The help text: flags by section, laid out as pflag and cobra lay them out."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.options.flag import Flag

_INDENT = 16
_NARROWEST = 24  # text in fewer columns than this is not wrapped
_SLOP = 5  # a short last word may stand over instead of alone on a line


def sections(flags: Iterable[Flag], columns: int) -> str:
    """Every flag under its section's title. `columns` is the terminal's width, 0 when there is none."""
    by_section: dict[str, list[Flag]] = {}
    for item in flags:
        by_section.setdefault(item.section, []).append(item)
    parts = []
    for section, members in by_section.items():
        members.sort(key=lambda member: member.name)
        title = section[0].upper() + section[1:]
        lines = _below(members, columns) if columns > _NARROWEST else _beside(members)
        parts.append(f"\n{title} flags:\n\n{lines}\n")
    return "".join(parts)


def _below(members: list[Flag], columns: int) -> str:
    """On a terminal: the name on a line of its own, its text indented below."""
    lines = []
    for member in members:
        lines.append(_name(member))
        lines += (" " * _INDENT + line for line in _wrap(_text(member), columns - _INDENT))
    return "\n".join(lines)


def _beside(members: list[Flag]) -> str:
    """Elsewhere: two columns, one line for each flag."""
    names = [_name(member) for member in members]
    width = max(map(len, names))
    return "\n".join(f"{name:<{width}}   {_text(member)}" for name, member in zip(names, members, strict=True))


def _name(item: Flag) -> str:
    declared = item.declared
    name = f"  -{declared.short}, --{item.name}" if declared.short else f"      --{item.name}"
    if declared.kind.name == "bool":
        return name
    return f"{name} {declared.kind.name}" + (f"[={declared.kind.bare}]" if declared.kind.bare else "")


def _text(item: Flag) -> str:
    declared = item.declared
    text = declared.help
    if declared.default != declared.kind.zero:
        shown = declared.kind.show(declared.default)
        text += f' (default "{shown}")' if declared.kind.name == "string" else f" (default {shown})"
    return text + (f" (DEPRECATED: {declared.deprecated})" if declared.deprecated else "")


def _wrap(text: str, width: int) -> list[str]:
    lines = []
    while width >= _NARROWEST and len(text) > width:
        cut = text.rfind(" ", 0, width - _SLOP)
        if cut <= 0:
            break
        lines.append(text[:cut])
        text = text[cut + 1 :]
    return [*lines, text]
