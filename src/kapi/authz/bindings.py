"""The index of role bindings by subject and of roles by name, kept by what the caches tell.

It is filled on first use and follows each cache event from then on; embedded engines deliver those before a write is
answered, so there a deleted binding is gone from here before its deleter knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.api.user import User
from kapi.authz.rules import ANY, Rule
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.follower import Follower

FILL_SECONDS = 5.0
_SLICE = 500  # bindings that are read before others get a turn


class Caches(NamedTuple):
    """Where the rbac objects are read from."""

    roles: Cacher
    cluster_roles: Cacher
    role_bindings: Cacher
    cluster_role_bindings: Cacher


class Role:
    """A role's rules: as they are stored, and by verb."""

    __slots__ = ("_any", "_by_verb", "rules")

    def __init__(self, rules: list[Object]) -> None:
        self.rules = rules
        self._any: list[Rule] = []
        self._by_verb: dict[str, list[Rule]] = {}
        for compiled in map(Rule, rules):
            if ANY in compiled.verbs:
                self._any.append(compiled)
                continue
            for verb in compiled.verbs:
                self._by_verb.setdefault(verb, []).append(compiled)

    def on(self, verb: str) -> Iterator[Rule]:
        yield from self._by_verb.get(verb, ())
        yield from self._any


class Binding:
    """Who holds which role. `namespace` is empty for a cluster role binding."""

    __slots__ = ("_subjects", "key", "name", "namespace", "role_kind", "role_name")

    def __init__(self, key: str, decoded: Object) -> None:
        metadata, role = decoded["metadata"], decoded.get("roleRef") or {}
        self.key = key
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace", "")
        self.role_kind: str = role.get("kind", "")
        self.role_name: str = role.get("name", "")
        self._subjects: list[Object] = decoded.get("subjects") or []

    def subjects(self) -> Iterator[tuple[str, str]]:
        """Users and groups, as ("User" or "Group", name); a service account is the user it authenticates as."""
        for subject in self._subjects:
            found = self._subject(subject)
            if found is not None:
                yield found

    def _subject(self, subject: Object) -> tuple[str, str] | None:
        kind, name = subject.get("kind", ""), subject.get("name", "")
        if kind in ("User", "Group"):
            return kind, name
        namespace = subject.get("namespace") or self.namespace
        if kind != "ServiceAccount" or not namespace:
            return None
        return "User", f"system:serviceaccount:{namespace}:{name}"

    def granted_to(self, user: User) -> str:
        """As upstream tells why someone is allowed: by the first subject that they are."""
        kind = "RoleBinding" if self.namespace else "ClusterRoleBinding"
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        role = f"{kind} {go_quote(name)} of {self.role_kind} {go_quote(self.role_name)}"
        for subject in self._subjects:
            found = self._subject(subject)
            if found is not None and found[1] in ((user.name,) if found[0] == "User" else user.groups):
                return f"{role} to {self._described(subject)}"
        return role

    def _described(self, subject: Object) -> str:
        kind, name = subject["kind"], subject["name"]
        if kind == "ServiceAccount":
            name = f"{name}/{subject.get('namespace') or self.namespace}"
        return f"{kind} {go_quote(name)}"


class Bindings:
    """`changed` is called after every change of a role or a binding."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._on_change = changed
        self._caches: Caches | None = None
        self._followers: list[Follower] = []
        self._filling = asyncio.Lock()
        self._by_key: dict[str, Binding] = {}
        self._by_subject: dict[tuple[str, str, str], dict[str, Binding]] = {}  # namespace, kind, name
        self._roles: dict[str, Role] = {}
        self._sound = False  # no cache has begun anew since the fill that is under way began
        self.filled = False

    def bind(self, caches: Caches) -> None:
        self._caches = caches

    async def fill(self) -> None:
        """Read all bindings; kv.StorageError when the caches cannot be filled in time."""
        async with self._filling:
            while not self.filled:
                await self._fill()

    async def _fill(self) -> None:
        assert self._caches is not None, "no request is served before the stores are there"
        for cacher in self._caches:
            await cacher.started(FILL_SECONDS)
        self._forget()
        self._sound = True
        # From here on every change is told; what was listed and has changed since is left to that.
        for cacher in self._caches:
            self._followers.append(Follower(cacher, self._change_of(cacher), self._lost))
        for cacher in (self._caches.cluster_role_bindings, self._caches.role_bindings):
            for number, entry in enumerate(cacher.select(cacher.prefix), 1):
                if cacher.get(entry.key) is entry:
                    self._binding_changed(entry.key, entry)
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
        self.filled = self._sound

    def _forget(self) -> None:
        for follower in self._followers:
            follower.stop()
        self._followers.clear()
        self._by_key.clear()
        self._by_subject.clear()
        self._roles.clear()

    def _lost(self) -> None:
        """A cache begins anew: so does this, with the next question."""
        self.filled = self._sound = False
        self._on_change()

    def _change_of(self, cacher: Cacher) -> Callable[[str, Entry | None], None]:
        assert self._caches is not None
        holds_roles = cacher is self._caches.roles or cacher is self._caches.cluster_roles
        return self._role_changed if holds_roles else self._binding_changed

    def _role_changed(self, key: str, _: Entry | None) -> None:
        self._roles.pop(key, None)
        self._on_change()

    def _binding_changed(self, key: str, entry: Entry | None) -> None:
        former = self._by_key.pop(key, None)
        if former is not None:
            for kind, name in former.subjects():
                held = self._by_subject.get((former.namespace, kind, name), {})
                held.pop(key, None)
                if not held:
                    self._by_subject.pop((former.namespace, kind, name), None)
        if entry is not None:
            binding = self._by_key[key] = Binding(key, entry.object)
            for kind, name in binding.subjects():
                self._by_subject.setdefault((binding.namespace, kind, name), {})[key] = binding
        self._on_change()

    # Reading

    def of(self, user: User, namespace: str) -> list[Binding]:
        """The bindings that apply to this user: those of the cluster first, then the namespace's, by name."""
        found = self._in(user, "")
        return found + self._in(user, namespace) if namespace else found

    def _in(self, user: User, namespace: str) -> list[Binding]:
        held = dict(self._by_subject.get((namespace, "User", user.name), {}))
        for group in user.groups:
            held |= self._by_subject.get((namespace, "Group", group), {})
        return [held[key] for key in sorted(held)]

    def role(self, kind: str, namespace: str, name: str) -> Role | None:
        """The role that a binding of that namespace refers to."""
        assert self._caches is not None
        if kind == "ClusterRole":
            cacher, key = self._caches.cluster_roles, self._caches.cluster_roles.prefix + name
        else:
            cacher, key = self._caches.roles, f"{self._caches.roles.prefix}{namespace}/{name}"
        role = self._roles.get(key)
        if role is None:
            entry = cacher.get(key)
            if entry is None:
                return None
            role = self._roles[key] = Role(entry.object.get("rules") or [])
        return role
