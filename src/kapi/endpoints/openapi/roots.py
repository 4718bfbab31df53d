"""The operations that belong to no group-version: what tells of groups, the version, and the tokens' issuer."""

from __future__ import annotations

from kapi.api.objects import Object
from kapi.endpoints.openapi.operations import MEDIA, group_name
from kapi.endpoints.openapi.schemas import COMPONENTS, VERSION_INFO, meta

_OTHERS = {
    "version": ("version", "getCodeVersion", "application/json", VERSION_INFO),
    ".well-known/openid-configuration": (
        "WellKnown",
        "getServiceAccountIssuerOpenIDConfiguration",
        "application/json",
        "",
    ),
    "openid/v1/jwks": ("openid", "getServiceAccountIssuerOpenIDKeyset", "application/jwk-set+json", ""),
}


def root_item(path: str) -> tuple[Object, str]:
    """The path's operations, and the definition that they refer to, if any."""
    if path in _OTHERS:
        tag, identifier, media, name = _OTHERS[path]
        return _item(tag, identifier, (media,), name), name
    if path == "api":
        return _item("core", "getCoreAPIVersions", MEDIA, meta("APIVersions")), meta("APIVersions")
    if path == "apis":
        return _item("apis", "getAPIVersions", MEDIA, meta("APIGroupList")), meta("APIGroupList")
    group = group_name(path.removeprefix("apis/"))
    tag = group[:1].lower() + group[1:]
    return _item(tag, f"get{group}APIGroup", MEDIA, meta("APIGroup")), meta("APIGroup")


def _item(tag: str, identifier: str, media: tuple[str, ...], name: str) -> Object:
    schema: Object = {"$ref": COMPONENTS + name} if name else {"type": "string"}
    answer = {"content": {each: {"schema": schema} for each in media}}
    return {"get": {"tags": [tag], "operationId": identifier, "responses": {"200": answer, "401": {}}}}
