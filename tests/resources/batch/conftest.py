from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def job() -> Callable[..., dict[str, Any]]:
    """A valid job; keywords replace fields of its spec."""

    def make(name: str = "task", **spec: Any) -> dict[str, Any]:
        pod = {"restartPolicy": "Never", "containers": [{"name": "task", "image": "busybox:1.36"}]}
        return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}} | spec}

    return make
