from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def workload() -> Callable[..., dict[str, Any]]:
    """A valid workload; keywords replace fields of its spec."""

    def make(name: str = "web", **spec: Any) -> dict[str, Any]:
        template = {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]},
        }
        wanted = {"selector": {"matchLabels": {"app": "web"}}, "template": template} | spec
        return {"metadata": {"name": name}, "spec": wanted}

    return make
