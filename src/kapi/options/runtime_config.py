"""The keys of --runtime-config, made uniform."""

from __future__ import annotations

from collections.abc import Mapping

from kapi.api.gvk import GroupVersion
from kapi.endpoints.priorities import PRIORITIES

_SETS = ("api/all", "api/ga", "api/beta", "api/alpha")
_TRUE = ("", "1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


def normalize(config: Mapping[str, str]) -> dict[str, bool]:
    """As upstream's Complete: `v1` and `api/v1`, whatever follows, become `/v1`; `api/legacy` is dropped."""
    return {key: value in _TRUE for key, value in _normal_keys(config).items()}


def runtime_config_problem(config: Mapping[str, str]) -> str | None:
    normal = _normal_keys(config)
    if normal == {"api/all": "false"}:
        return "invalid runtime-config with only api/all=false"
    for key, value in normal.items():
        if key in _SETS:
            if value not in ("true", "false"):
                return f"invalid value {key}={value}"
        elif key.count("/") not in (1, 2):
            return f"runtime-config invalid key {key}"
        elif value not in _TRUE + _FALSE:
            return f'invalid value of {key}: {value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
        elif problem := _unknown(key, on=value in _TRUE):
            return problem
    return None


def _unknown(key: str, *, on: bool) -> str:
    """What is not there cannot be turned on; turning it off changes nothing."""
    group, version = key.split("/")[:2]
    if all(known.group != group for known in PRIORITIES):
        return f"unknown api groups {key}"
    if on and GroupVersion(group, version) not in PRIORITIES:
        return f"group version {group}/{version} that has not been registered"
    return ""


def _normal_keys(config: Mapping[str, str]) -> dict[str, str]:
    return {_normal_key(key): value for key, value in config.items() if key != "api/legacy"}


def _normal_key(key: str) -> str:
    core = key.removeprefix("api/")
    return "/v1" if core == "v1" or core.startswith("v1/") else key
