"""Apply and update against a model: a flat map of fields, each with a value and the set of its owners."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kapi.patch.apply.apply import Applier, apply
from kapi.patch.apply.update import track_update
from kapi.patch.errors import ApplyConflict
from kapi.schema.loader import type_of

Owner = tuple[str, str]

data = st.dictionaries(st.sampled_from("abc"), st.sampled_from("12"), max_size=3)
managers = st.sampled_from(["m1", "m2", "m3"])
CONFIG_MAP = type_of("", "v1", "ConfigMap")


class Ownership(RuleBasedStateMachine):
    """ConfigMap data under random writes. A manager may own a field by apply and by update, as two owners."""

    def __init__(self) -> None:
        super().__init__()
        self.live: Any = None
        self.values: dict[str, str] = {}
        self.owners: dict[str, set[Owner]] = {}

    @rule(manager=managers, fields=data, force=st.booleans())
    def apply(self, manager: str, fields: dict[str, str], force: bool) -> None:
        me = (manager, "Apply")
        conflicts = {
            (key, owner)
            for key, value in fields.items()
            if key in self.values and self.values[key] != value
            for owner in self.owners[key] - {me}
        }
        by = Applier(manager=manager, api_version="v1", kind="ConfigMap", now="t", force=force)
        try:
            self._keep(apply(self.live, self._object(fields), CONFIG_MAP, by))
        except ApplyConflict as refused:
            assert not force
            assert len(refused.conflicts) == len(conflicts) > 0
            return
        assert force or not conflicts
        for key, owner in conflicts:
            self.owners[key].discard(owner)
        for key in [key for key, owners in self.owners.items() if me in owners and key not in fields]:
            self.owners[key].discard(me)
            if not self.owners[key]:
                del self.owners[key], self.values[key]
        for key, value in fields.items():
            self.values[key] = value
            self.owners.setdefault(key, set()).add(me)

    @rule(manager=managers, fields=data)
    def update(self, manager: str, fields: dict[str, str]) -> None:
        new = self._object(fields)
        # A label keeps the object managed: without any manager, updates are not tracked.
        track_update(self.live, new, CONFIG_MAP, manager=manager, api_version="v1", now="t")
        tracked = self.live is None or self._entries()
        self._keep(new)
        for key in [key for key in self.values if key not in fields]:
            del self.values[key], self.owners[key]
        for key, value in fields.items():
            if self.values.get(key) != value:
                self.owners[key] = {(manager, "Update")} if tracked else set()
            self.values[key] = value

    def _object(self, fields: dict[str, str]) -> Any:
        base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
        return base | ({"data": dict(fields)} if fields else {})

    def _keep(self, new: Any) -> None:
        new["metadata"]["uid"] = "1"
        self.live = new

    def _entries(self) -> list[Any]:
        return self.live["metadata"].get("managedFields", [])  # type: ignore[no-any-return]

    @invariant()
    def values_are_as_modelled(self) -> None:
        if self.live is not None:
            assert (self.live.get("data") or {}) == self.values

    @invariant()
    def owners_are_as_modelled(self) -> None:
        if self.live is None or not self._entries():
            # Nobody is tracked before the next apply, which makes one owner of all that is there.
            self.owners = {key: {("before-first-apply", "Update")} for key in self.values}
            return
        found: dict[str, set[Owner]] = {key: set() for key in self.values}
        for entry in self._entries():
            for key in entry["fieldsV1"].get("f:data", {}):
                if key != ".":
                    found[key[2:]].add((entry["manager"], entry["operation"]))
        assert found == self.owners


Ownership.TestCase.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
TestOwnership = Ownership.TestCase
