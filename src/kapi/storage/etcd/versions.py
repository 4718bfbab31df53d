"""What depends on etcd's version."""

from __future__ import annotations

import re


def trusts_progress(version: str) -> bool:
    """Whether that etcd answers a progress request only after every earlier event.

    As upstream: before 3.4.25 and 3.5.8 the answer could overtake events, before 3.4.31 and 3.5.13 it could come for
    a watch that was not in step yet.
    """
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if match is None:
        return False
    number = tuple(map(int, match.groups()))
    return (3, 4, 31) <= number < (3, 5, 0) or number >= (3, 5, 13)
