"""Feature gates that kapi knows. Most are settled: such a gate may be named, but only with the value it has.

A gate whose off state kapi can honour gets a row with `locked=False` together with the code that consults it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gate:
    default: bool
    locked: bool = True


GATES: dict[str, Gate] = {
    "AllAlpha": Gate(False),
    "AllBeta": Gate(False),
    "APIResponseCompression": Gate(True),
    "APIServingWithRoutine": Gate(False),
    "AggregatedDiscoveryRemoveBetaType": Gate(True),
    "CBORServingAndStorage": Gate(False),
    "CoordinatedLeaderElection": Gate(False),
    "KMSv1": Gate(False, locked=False),
    "ListFromCacheSnapshot": Gate(True),
    "SeparateCacheWatchRPC": Gate(False),
    "ShardedListAndWatch": Gate(False),
    "StorageVersionAPI": Gate(False),
    "StorageVersionHash": Gate(True),
    "UnauthenticatedHTTP2DOSMitigation": Gate(True),
    "WatchCacheInitializationPostStartHook": Gate(True),
    "WatchList": Gate(True),
}

_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


def gate_problems(settings: Iterable[str]) -> list[str]:
    """What is wrong with `Name=value` settings, in upstream's words."""
    problems = []
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        gate = GATES.get(name)
        if not equals:
            problems.append(f"missing bool value for {name}")
        elif text not in _TRUE + _FALSE:
            problems.append(f'invalid value of {name}={text}, err: strconv.ParseBool: parsing "{text}": invalid syntax')
        elif gate is None:
            problems.append(f"unrecognized feature gate: {name}")
        elif gate.locked and (text in _TRUE) != gate.default:
            wanted, has = ("true", "false") if text in _TRUE else ("false", "true")
            problems.append(f"cannot set feature gate {name} to {wanted}, feature is locked to {has}")
    return problems


def feature_gates(settings: Iterable[str]) -> dict[str, bool]:
    """Every gate's value under those settings, which have no problems."""
    gates = {name: gate.default for name, gate in GATES.items()}
    for setting in settings:
        name, _, text = setting.partition("=")
        gates[name.strip()] = text.strip() in _TRUE
    return gates
