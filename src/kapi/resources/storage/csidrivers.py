"""CSIDrivers: what a storage driver can do, and what it needs from the cluster."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, invalid, not_supported
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, bump_generation
from kapi.registry.table import AGE, NAME, Column, field_value

_POLICIES = ("ReadWriteOnceWithFSType", "File", "None")
_MODES = ("Persistent", "Ephemeral")
_OFF = ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount", "preventPodSchedulingIfMissing")
_TOKENS_LOGGED = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    for field in _OFF:
        spec.setdefault(field, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors: list[FieldError] = []
    if spec["fsGroupPolicy"] not in _POLICIES:
        errors.append(not_supported("spec.fsGroupPolicy", spec["fsGroupPolicy"], _POLICIES))
    tokens = spec.get("tokenRequests") or []
    errors += _validate_tokens(tokens)
    errors += [
        not_supported("spec.volumeLifecycleModes", mode, _MODES, in_order=True)
        for mode in spec["volumeLifecycleModes"]
        if mode not in _MODES
    ]
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not tokens:
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, why))
    return errors


def _validate_tokens(tokens: list[Object]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, token in enumerate(tokens):
        path, audience, seconds = f"spec.tokenRequests[{i}]", token.get("audience", ""), token.get("expirationSeconds")
        if audience in seen:
            errors.append(duplicate(f"{path}.audience", audience))
            continue
        seen.add(audience)
        if seconds is not None and seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
        if seconds is not None and seconds > 1 << 32:
            why = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    # As upstream: the first field is reported by another name.
    for field, shown in (("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")):
        if new["spec"].get(field) != old["spec"].get(field):
            errors.append(invalid(f"spec.{shown}", new["spec"].get(field), "field is immutable"))
    return errors


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    tokens = new["spec"].get("tokenRequests")
    known = old is not None and old["spec"].get("tokenRequests") == tokens
    return [_TOKENS_LOGGED] if tokens and not known and "serviceAccountTokenInSecrets" not in new["spec"] else []


def _tokens(driver: Object) -> str:
    tokens = driver["spec"].get("tokenRequests")
    return "<unset>" if tokens is None else ",".join(token.get("audience", "") for token in tokens)


def _modes(driver: Object) -> str:
    return ",".join(driver["spec"].get("volumeLifecycleModes") or []) or "<none>"


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSIDriver",
    strategy=Strategy(
        default=default,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        unconditional_update=False,
    ),
    columns=(
        NAME,
        Column("AttachRequired", field_value("spec", "attachRequired", absent=True), type="boolean"),
        Column("PodInfoOnMount", field_value("spec", "podInfoOnMount", absent=False), type="boolean"),
        Column("StorageCapacity", field_value("spec", "storageCapacity", absent=False), type="boolean"),
        Column("TokenRequests", _tokens),
        Column("RequiresRepublish", field_value("spec", "requiresRepublish", absent=False), type="boolean"),
        Column("Modes", _modes),
        AGE,
    ),
    returns_deleted=True,
)
