"""SelfSubjectRulesReviews: all that I may do in a namespace, as far as the authorizers can tell."""

from __future__ import annotations

from kapi.api.authorizer import RuleSource
from kapi.api.call import Call
from kapi.api.errors import BadRequest
from kapi.api.objects import Object
from kapi.registry.options import WriteOptions
from kapi.registry.resource import Resource, Virtual


def resource(source: RuleSource) -> Resource:
    async def create(call: Call, review: Object, _: WriteOptions) -> Object:
        namespace = (review.get("spec") or {}).get("namespace")
        if not namespace:
            raise BadRequest("no namespace on request")
        rules, incomplete, problem = await source.known_rules(call.user, namespace)
        status: Object = {
            "resourceRules": [_only(rule, "apiGroups", "resources", "resourceNames") for rule in rules if _names(rule)],
            "nonResourceRules": [_only(rule, "nonResourceURLs") for rule in rules if rule.get("nonResourceURLs")],
            "incomplete": incomplete,
        }
        if problem:
            status["evaluationError"] = problem
        return {
            "kind": "SelfSubjectRulesReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {},
            "status": status,
        }

    return Resource(
        group="authorization.k8s.io", version="v1", kind="SelfSubjectRulesReview", virtual=Virtual(create=create)
    )


def _names(rule: Object) -> bool:
    return bool(rule.get("resources"))


def _only(rule: Object, *fields: str) -> Object:
    return {"verbs": rule.get("verbs") or [], **{field: rule[field] for field in fields if rule.get(field)}}
