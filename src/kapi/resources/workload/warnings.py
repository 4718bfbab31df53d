"""What is odd about a workload: its name, and the pods that it makes."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.resources.podspec.warnings import template_warnings
from kapi.resources.workload.rules import name_warnings


def workload_warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    template = new["spec"]["template"]
    if old is None:
        return name_warnings(new["metadata"]["name"]) + template_warnings(template, "spec.template")
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return template_warnings(template, "spec.template")
