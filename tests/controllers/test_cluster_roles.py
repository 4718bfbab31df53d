"""Cluster roles are aggregated, seen through the API of a real server."""

from __future__ import annotations

from tests.controllers.world import Object, World


def rule(verb: str) -> Object:
    return {"verbs": [verb], "apiGroups": [""], "resources": ["pods"]}


def test_a_role_has_the_rules_of_those_that_it_selects(world: World) -> None:
    label, name = f"example.com/{world.namespace}", f"whole-{world.namespace}"
    selectors = [{"matchLabels": {label: "yes"}}]
    body = {"metadata": {"name": name}, "aggregationRule": {"clusterRoleSelectors": selectors}}
    world.create("clusterroles", {**body, "rules": [rule("delete")]})
    for part, verb in (("b", "list"), ("a", "get")):
        metadata = {"name": f"{part}-{world.namespace}", "labels": {label: "yes"}}
        world.create("clusterroles", {"metadata": metadata, "rules": [rule(verb), rule("watch")]})

    def has(*verbs: str) -> None:
        wanted = [rule(verb) for verb in verbs]
        world.until(f"clusterroles/{name}", lambda s: s is not None and (s.get("rules") or []) == wanted)

    has("get", "watch", "list")
    world.patch(f"clusterroles/{name}", {"rules": [rule("delete")]})
    has("get", "watch", "list")
    world.delete(f"clusterroles/a-{world.namespace}")
    has("list", "watch")


def test_the_roles_for_people_have_their_rules(world: World) -> None:
    admin = world.until("clusterroles/admin", lambda s: s is not None and bool(s.get("rules")))
    assert admin is not None
    assert any("rolebindings" in rule.get("resources", ()) for rule in admin["rules"])
