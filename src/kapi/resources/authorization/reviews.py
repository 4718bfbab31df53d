"""Access reviews: may I, may they, may they here."""

from __future__ import annotations

from kapi.api.authorizer import Authorizer
from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object
from kapi.api.user import User
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Resource, Virtual
from kapi.resources.authorization.attributes import (
    GROUP,
    decide,
    not_here,
    refuse,
    validate_attributes,
    validate_metadata,
    validate_own_attributes,
)


def self_subject_access_reviews(authorizer: Authorizer) -> Resource:
    async def create(call: Call, review: Object, _: WriteOptions) -> Object:
        spec = review.get("spec") or {}
        refuse(validate_own_attributes(spec) + validate_metadata(review, namespaced=False))
        return {**review, "status": await decide(authorizer, call.user, spec)}

    return Resource(group=GROUP, version="v1", kind="SelfSubjectAccessReview", virtual=Virtual(create=create))


def subject_access_reviews(authorizer: Authorizer) -> Resource:
    async def create(_: Call, review: Object, __: WriteOptions) -> Object:
        spec = review.get("spec") or {}
        refuse(validate_attributes(spec) + validate_metadata(review, namespaced=False))
        return {**review, "status": await decide(authorizer, _subject(spec), spec)}

    return Resource(group=GROUP, version="v1", kind="SubjectAccessReview", virtual=Virtual(create=create))


def local_subject_access_reviews(authorizer: Authorizer) -> Resource:
    async def create(call: Call, review: Object, _: WriteOptions) -> Object:
        spec = review.get("spec") or {}
        refuse(_validate_local(review, spec, call.info.namespace))
        return {**review, "status": await decide(authorizer, _subject(spec), spec)}

    return Resource(group=GROUP, version="v1", kind="LocalSubjectAccessReview", virtual=Virtual(create=create))


def _validate_local(review: Object, spec: Object, namespace: str) -> list[FieldError]:
    found = validate_attributes(spec) + validate_metadata(review, namespaced=True)
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        where = resource.get("namespace", "")
        found.append(invalid("spec.resourceAttributes.namespace", where, "must match metadata.namespace"))
    if path is not None:
        found.append(not_here(path))
    return found


def _subject(spec: Object) -> User:
    return User(
        name=spec.get("user", ""),
        uid=spec.get("uid", ""),
        groups=tuple(spec.get("groups") or ()),
        extra={key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()},
    )
