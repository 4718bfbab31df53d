"""Keys of ConfigMaps and Secrets: they become file names."""

from __future__ import annotations

import re

from kapi.api.names import max_length

_PATTERN = "[-._a-zA-Z0-9]+"
_is_key = re.compile(_PATTERN + r"\Z").match


def config_map_key(key: str) -> list[str]:
    errors = [max_length(253)] if len(key.encode()) > 253 else []
    if not _is_key(key):
        errors.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            f"'KEY_NAME',  or 'key-name', regex used for validation is '{_PATTERN}')"
        )
    if key in (".", ".."):
        errors.append(f"must not be '{key}'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors
