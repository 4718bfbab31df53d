"""What changed between two objects, as text for people: the detail of errors about fields that may not change."""

from __future__ import annotations

from typing import Any


def difference(old: Any, new: Any) -> str:
    """A unified diff of the objects as indented JSON, without file names."""
    # Only ever needed for a refusal.
    import difflib
    import json

    before, after = (json.dumps(value, indent=1, sort_keys=True).splitlines() for value in (old, new))
    lines = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    return "".join(f"{line}\n" for line in lines)
