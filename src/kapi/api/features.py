"""Feature gates: all that kube-apiserver 1.37 has, with the versions in which they changed.

A gate that kapi can switch is in `SWITCHES`; one that concerns no API server may have any value. Any other may be
named, but only with the value it has: what would not happen must not be asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kapi.api.gated import SWITCHES

NEWEST, OLDEST = 37, 34  # the minor versions that can be emulated: this one and three before
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


class Gate(NamedTuple):
    """As it is in some version. `concerns`: an API server looks at it."""

    default: bool
    stage: str
    locked: bool
    concerns: bool


@cache
def _histories() -> dict[str, tuple[bool, list[tuple[int, bool, str, bool]]]]:
    """By name: whether it concerns API servers, and from which minor version on it is what."""
    import orjson  # what only asks for help need not wait for it

    data = orjson.loads((Path(__file__).parent / "data" / "feature_gates.json").read_bytes())
    return {name: (gate["server"], gate["history"]) for name, gate in data.items()}


@cache
def gates(minor: int = NEWEST) -> dict[str, Gate]:
    """Those of a version: what came later is unknown to it."""
    found = {"AllAlpha": Gate(False, "Alpha", True, True), "AllBeta": Gate(False, "Beta", True, True)}
    for name, (concerns, history) in _histories().items():
        known = [row for row in history if row[0] <= minor]
        if known:
            _, default, stage, locked = known[-1]
            found[name] = Gate(default, stage, locked, concerns)
    return found


def gate_problems(settings: Iterable[str], minor: int = NEWEST) -> list[str]:
    """What is wrong with `Name=value` settings, in upstream's words."""
    problems = []
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        gate = gates(minor).get(name)
        wanted = text in _TRUE
        if not equals:
            problems.append(f"missing bool value for {name}")
        elif text not in _TRUE + _FALSE:
            problems.append(f'invalid value of {name}={text}, err: strconv.ParseBool: parsing "{text}": invalid syntax')
        elif gate is None:
            problems.append(f"unrecognized feature gate: {name}")
        elif wanted != gate.default:
            problems += _change_problems(name, gate, wanted)
    return problems


def _change_problems(name: str, gate: Gate, wanted: bool) -> list[str]:
    asked = f"cannot set feature gate {name} to {str(wanted).lower()}"
    if gate.locked:
        return [f"{asked}, feature is locked to {str(gate.default).lower()}"]
    if gate.concerns and name not in SWITCHES:
        return [f"{asked}: this server cannot switch it"]
    return []


def feature_gates(settings: Iterable[str], minor: int = NEWEST) -> dict[str, bool]:
    """The value of every gate that can be switched under those settings, which have no problems."""
    known = gates(minor)
    found = {name: name in known and known[name].default for name in SWITCHES}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name.strip() in SWITCHES:
            found[name.strip()] = text.strip() in _TRUE
    return found
