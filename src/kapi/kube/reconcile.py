"""What a bootstrap object has to become when it is there already.

Users keep what they changed, where upstream lets them. Each function returns the object to write, or None when it is
fine as it is.
"""

from __future__ import annotations

from kapi.api.objects import Object
from kapi.authz.rules import uncovered
from kapi.flowcontrol.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS

_RBAC_OPT_OUT = "rbac.authorization.kubernetes.io/autoupdate"
_APF_AUTO = "apf.kubernetes.io/autoupdate-spec"
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))


def reconciled_role(found: Object, wanted: Object) -> Object | None:
    """What is missing is added; what somebody added stays."""
    if _opted_out(found):
        return None
    new = _with_metadata(found, wanted)
    if wanted.get("aggregationRule") is not None:
        have = (found.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        missing = [s for s in wanted["aggregationRule"]["clusterRoleSelectors"] if s not in have]
        if missing:
            new["aggregationRule"] = {"clusterRoleSelectors": have + missing}
    else:
        rules, needed = found.get("rules") or [], wanted.get("rules") or []
        # Nearly always they are as they were made, and every start asks.
        missing = [] if rules == needed else uncovered(rules, needed)
        if missing:
            new["rules"] = rules + missing
    return new if new != found else None


def reconciled_binding(found: Object, wanted: Object) -> Object | None:
    """The same for subjects. Another role makes it another binding: see `is_other_binding`."""
    if _opted_out(found):
        return None
    new = _with_metadata(found, wanted)
    subjects = found.get("subjects") or []
    missing = [subject for subject in wanted.get("subjects") or [] if subject not in subjects]
    if missing:
        new["subjects"] = subjects + missing
    return new if new != found else None


def is_other_binding(found: Object, wanted: Object) -> bool:
    """Whether it binds another role: that cannot be changed, it has to be made anew."""
    return not _opted_out(found) and found.get("roleRef") != wanted.get("roleRef")


def _opted_out(found: Object) -> bool:
    return (found["metadata"].get("annotations") or {}).get(_RBAC_OPT_OUT) == "false"


def _with_metadata(found: Object, wanted: Object) -> Object:
    metadata = dict(found["metadata"])
    for field in ("labels", "annotations"):
        merged = {**(wanted["metadata"].get(field) or {}), **(metadata.get(field) or {})}
        if merged != (metadata.get(field) or {}):
            metadata[field] = merged
    return {**found, "metadata": metadata}


def reconciled_flow_control(found: Object, wanted: Object) -> Object | None:
    """Mandatory objects are what they are; suggested ones follow until somebody changes them or says not to."""
    metadata, spec = found["metadata"], wanted["spec"]
    mandatory = FLOW_SCHEMAS if found["kind"] == "FlowSchema" else PRIORITY_LEVELS
    annotations = metadata.get("annotations") or {}
    if metadata["name"] in mandatory:
        follows = True
        if "exempt" in found.get("spec", {}) and "exempt" in spec:
            # How much others may borrow from the exempt level is for users to say.
            spec = {**spec, "exempt": found["spec"]["exempt"]}
    elif _APF_AUTO in annotations:
        follows = annotations[_APF_AUTO] in _TRUE
    else:
        follows = metadata.get("generation", 1) == 1
    said = {**annotations, _APF_AUTO: "true" if follows else "false"}
    new = {**found, "metadata": {**metadata, "annotations": said}}
    if follows:
        new["spec"] = spec
    return new if new != found else None


def is_left_over(found: Object) -> bool:
    """Whether it says that the server sees to it, though the server knows no such object (any more)."""
    return (found["metadata"].get("annotations") or {}).get(_APF_AUTO) in _TRUE
