"""The paths of a document: one operation per verb and path, named as clients' generators expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kapi.api.gvk import GroupVersion, GroupVersionKind
from kapi.api.objects import Object
from kapi.endpoints.discovery import ResourceEntry, SubresourceEntry
from kapi.endpoints.openapi.schemas import COMPONENTS, meta

MEDIA = ("application/json", "application/vnd.kubernetes.protobuf", "application/yaml")
_STREAMS = (
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
)
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
LIST_PARAMETERS = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
)
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_COLLECTION = tuple(sorted((set(LIST_PARAMETERS) - {"allowWatchBookmarks", "watch"}) | set(_DELETE)))


def group_name(group: str) -> str:
    """`rbac.authorization.k8s.io` → `RbacAuthorization`; the legacy group is `Core`."""
    parts = (group or "core").removesuffix(".k8s.io").replace("-", ".").split(".")
    return "".join(part[:1].upper() + part[1:] for part in parts)


def tag(group_version: GroupVersion) -> str:
    name = group_name(group_version.group)
    return f"{name[:1].lower()}{name[1:]}_{group_version.version}"


class Paths:
    """The paths of one group-version. `definitions` collects the names that they refer to."""

    def __init__(self, group_version: GroupVersion) -> None:
        self._gv = group_version
        self._root = f"/apis/{group_version}" if group_version.group else f"/api/{group_version.version}"
        self._suffix = group_name(group_version.group) + group_version.version[:1].upper() + group_version.version[1:]
        self._tags = [tag(group_version)]
        self.definitions: set[str] = set()
        self.paths: Object = {}

    def add_discovery(self) -> None:
        operation = {
            "tags": self._tags,
            "operationId": f"get{self._suffix}APIResources",
            "responses": self._responses(meta("APIResourceList"), ("200",)),
        }
        self.paths[f"{self._root}/"] = {"get": operation}

    def add(self, resource: ResourceEntry, kind: str, *, watches: bool = True) -> None:
        """`kind` is the full name of the resource's definition."""
        scope = "Namespaced" if resource.namespaced else ""
        gvk = GroupVersionKind(self._gv.group, self._gv.version, resource.kind)
        place = "/namespaces/{namespace}" if resource.namespaced else ""
        collection = f"{self._root}{place}/{resource.plural}"
        listed = kind.removesuffix(resource.kind) + resource.list_kind
        operations = _Operations(self, resource.kind, scope, gvk, kind, listed)
        self._put(collection, operations.collection(resource.verbs), ("namespace",) if place else ())
        names = ("name", "namespace") if place else ("name",)
        deleted = kind if resource.returns_deleted else ""
        self._put(f"{collection}/{{name}}", operations.item(resource.verbs, deleted), names)
        if place and "list" in resource.verbs:
            everywhere = operations.everywhere()
            self.paths[f"{self._root}/{resource.plural}"] = {
                "get": everywhere,
                "parameters": _params(LIST_PARAMETERS, pretty=True),
            }
        if watches and "watch" in resource.verbs:
            self._add_watches(resource, operations, place)

    def add_subresource(self, resource: ResourceEntry, sub: SubresourceEntry, kind: str) -> None:
        scope = "Namespaced" if resource.namespaced else ""
        place = "/namespaces/{namespace}" if resource.namespaced else ""
        group, version = (sub.group, sub.version) if sub.version else self._gv
        suffix = resource.kind + sub.name[:1].upper() + sub.name[1:]
        operations = _Operations(self, suffix, scope, GroupVersionKind(group, version, sub.kind), kind)
        path = f"{self._root}{place}/{resource.plural}/{{name}}/{sub.name}"
        found = operations.item(tuple(v for v in sub.verbs if v != "delete"))
        if "create" in sub.verbs:
            found["post"] = operations.create()
        self._put(path, found, ("name", "namespace") if place else ("name",))

    def _add_watches(self, resource: ResourceEntry, operations: _Operations, place: str) -> None:
        root = f"{self._root}/watch"
        if place:
            self._watch(f"{root}/{resource.plural}", operations.watch_list(everywhere=True), ())
        path = f"{root}{place}/{resource.plural}"
        names = ("namespace",) if place else ()
        self._watch(path, operations.watch_list(everywhere=False), names)
        self._watch(f"{path}/{{name}}", operations.watch_one(), ("name", *names))

    def _watch(self, path: str, operation: Object, names: tuple[str, ...]) -> None:
        self.paths[path] = {"get": operation, "parameters": _params(LIST_PARAMETERS, names, pretty=True)}

    def _put(self, path: str, operations: Object, names: tuple[str, ...]) -> None:
        """What all operations take is told with the path: everything, where there is only one."""
        if not operations:
            return
        shared = _params((), names, pretty=True)
        if len(operations) == 1:
            [(method, operation)] = operations.items()
            shared = sorted(shared + operation.get("parameters", []), key=lambda param: str(param["name"]))
            operations = {method: {key: value for key, value in operation.items() if key != "parameters"}}
        self.paths[path] = {**operations, "parameters": shared}

    def _responses(self, name: str, codes: Iterable[str], media: tuple[str, ...] = MEDIA) -> Object:
        self.definitions.add(name)
        content = {m: {"schema": {"$ref": COMPONENTS + name}} for m in media}
        return {**{code: {"content": content} for code in codes}, "401": {}}

    def operation(
        self,
        identifier: tuple[str, str],
        action: str,
        gvk: GroupVersionKind,
        responses: Object,
        more: Object,
    ) -> Object:
        prefix, suffix = identifier
        return {
            "tags": self._tags,
            "operationId": f"{prefix}{self._suffix}{suffix}",
            **more,
            "responses": responses,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
        }


class _Operations:
    """The operations on one kind."""

    def __init__(self, paths: Paths, name: str, scope: str, gvk: GroupVersionKind, kind: str, listed: str = "") -> None:
        self._paths = paths
        self._name = name
        self._scope = scope
        self._gvk = gvk
        self._kind = kind
        self._list_kind = listed

    def collection(self, verbs: tuple[str, ...]) -> Object:
        found: Object = {}
        if "list" in verbs:
            found["get"] = self._make("list", "", "list", self._listed(), {"parameters": _params(LIST_PARAMETERS)})
        if "create" in verbs:
            found["post"] = self.create()
        if "deletecollection" in verbs:
            more = {"parameters": _params(_COLLECTION), "requestBody": self._body(meta("DeleteOptions"))}
            responses = self._paths._responses(meta("Status"), ("200",))
            found["delete"] = self._make("delete", "Collection", "deletecollection", responses, more)
        return found

    def create(self) -> Object:
        more = {"parameters": _params(_WRITE), "requestBody": self._body(self._kind, required=True)}
        return self._make("create", "", "post", self._paths._responses(self._kind, ("200", "201", "202")), more)

    def item(self, verbs: tuple[str, ...], deleted: str = "") -> Object:
        """`deleted` is the kind that a delete answers with, if it is no Status."""
        found: Object = {}
        if "get" in verbs:
            found["get"] = self._make("read", "", "get", self._paths._responses(self._kind, ("200",)), {})
        if "update" in verbs:
            more = {"parameters": _params(_WRITE), "requestBody": self._body(self._kind, required=True)}
            responses = self._paths._responses(self._kind, ("200", "201"))
            found["put"] = self._make("replace", "", "put", responses, more)
        if "delete" in verbs:
            more = {"parameters": _params(_DELETE), "requestBody": self._body(meta("DeleteOptions"))}
            responses = self._paths._responses(deleted or meta("Status"), ("200", "202"))
            found["delete"] = self._make("delete", "", "delete", responses, more)
        if "patch" in verbs:
            found["patch"] = self._patch()
        return found

    def _patch(self) -> Object:
        self._paths.definitions.add(meta("Patch"))
        schema = {"schema": {"$ref": COMPONENTS + meta("Patch")}}
        body = {"content": dict.fromkeys(_PATCHES, schema), "required": True}
        more = {"parameters": _params((*_WRITE, "force")), "requestBody": body}
        return self._make("patch", "", "patch", self._paths._responses(self._kind, ("200", "201")), more)

    def everywhere(self) -> Object:
        identifier = ("list", f"{self._name}ForAllNamespaces")
        return self._paths.operation(identifier, "list", self._gvk, self._listed(), {})

    def watch_list(self, *, everywhere: bool) -> Object:
        scope = "" if everywhere else self._scope
        suffix = f"{scope}{self._name}List" + ("ForAllNamespaces" if everywhere else "")
        return self._paths.operation(("watch", suffix), "watchlist", self._gvk, self._watched(), {})

    def watch_one(self) -> Object:
        return self._paths.operation(("watch", self._scope + self._name), "watch", self._gvk, self._watched(), {})

    def _listed(self) -> Object:
        return self._paths._responses(self._list_kind, ("200",), _STREAMS)

    def _watched(self) -> Object:
        return self._paths._responses(meta("WatchEvent"), ("200",), _STREAMS)

    def _body(self, name: str, *, required: bool = False) -> Object:
        self._paths.definitions.add(name)
        content = {"*/*": {"schema": {"$ref": COMPONENTS + name}}}
        return {"content": content, "required": True} if required else {"content": content}

    def _make(self, prefix: str, between: str, action: str, responses: Object, more: Object) -> Object:
        return self._paths.operation((prefix, between + self._scope + self._name), action, self._gvk, responses, more)


def query_parameters(names: Iterable[str]) -> list[Object]:
    return _params(names)


def _params(query: Iterable[str], path: Iterable[str] = (), *, pretty: bool = False) -> list[Object]:
    return list(_each(sorted({*query, *(("pretty",) if pretty else ())}), sorted(path)))


def _each(query: list[str], path: list[str]) -> Iterator[Object]:
    for name in sorted((*query, *path)):
        schema = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
        if name in path:
            yield {"name": name, "in": "path", "required": True, "schema": schema}
        else:
            yield {"name": name, "in": "query", "schema": schema}
