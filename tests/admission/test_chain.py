from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kapi.admission.chain import Chain, Hook, mutating, validating
from kapi.api.errors import Forbidden
from kapi.api.gvk import GroupResource, GroupVersionResource
from kapi.registry.attributes import Attributes, Operation, Reinvocation

PODS = GroupResource("", "pods")


def write(resource: str, operation: Operation = "CREATE", subresource: str = "") -> Attributes:
    named = SimpleNamespace(
        operation=operation,
        resource=GroupVersionResource("", "v1", resource),
        subresource=subresource,
        reinvocation=None,
        seen=[],
    )
    return cast(Attributes, named)


class Recorder:
    """Notes that it was asked; waits, if told to, before it does."""

    def __init__(self, name: str, *, waits: bool = False, **seen: Any) -> None:
        self.name = name
        self._waits = waits
        self._seen = seen

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.later if self._waits else self.now, "CREATE", **self._seen),)

    def now(self, attributes: Any) -> None:
        attributes.seen.append(self.name)

    async def later(self, attributes: Any) -> None:
        await asyncio.sleep(0)
        attributes.seen.append(self.name)


def run(chain: Chain, attributes: Any) -> list[str]:
    asyncio.run(chain.mutate(attributes))
    return cast(list[str], attributes.seen)


def test_plugins_run_in_order_whether_or_not_they_wait() -> None:
    chain = Chain([Recorder("a", waits=True), Recorder("b"), Recorder("c", waits=True)])
    assert run(chain, write("pods")) == ["a", "b", "c"]


def test_a_plugin_sees_only_what_it_asked_for() -> None:
    chain = Chain([Recorder("pods", of=(PODS,)), Recorder("status", at=("status",)), Recorder("all", at=None)])
    assert run(chain, write("pods")) == ["pods", "all"]
    assert run(chain, write("nodes")) == ["all"]
    assert run(chain, write("nodes", subresource="status")) == ["status", "all"]
    assert run(chain, write("pods", "UPDATE")) == []
    assert not chain.sees("validate", "CREATE", PODS)
    assert chain.sees("mutate", "CREATE", PODS)


def test_all_mutations_run_once_more_when_one_of_them_asks_for_it() -> None:
    class Asks(Recorder):
        def now(self, attributes: Any) -> None:
            super().now(attributes)
            attributes.reinvocation = attributes.reinvocation or Reinvocation()
            attributes.reinvocation.wanted = True

    assert run(Chain([Recorder("a"), Asks("b")]), write("pods")) == ["a", "b", "a", "b"]


def test_the_first_refusal_ends_the_chain() -> None:
    class Refuses:
        name = "refuses"

        def hooks(self) -> tuple[Hook, ...]:
            return (validating(self.refuse, "CREATE"),)

        def refuse(self, attributes: Attributes) -> None:
            raise Forbidden(PODS, "p", "no")

    with pytest.raises(Forbidden):
        asyncio.run(Chain([Refuses()]).validate(write("pods")))
