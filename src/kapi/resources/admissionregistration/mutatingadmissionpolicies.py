"""MutatingAdmissionPolicies: expressions that change what is written."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.admissionregistration import policies
from kapi.resources.admissionregistration.expressions import Expressions
from kapi.resources.admissionregistration.params import param_kind
from kapi.resources.admissionregistration.static_names import validate_name

_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_REINVOCATION = ("IfNeeded", "Never")


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new, None) + validate_name(new)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate(new, old)


def _validate(new: Object, old: Object | None) -> list[FieldError]:
    spec = new["spec"]
    expressions = Expressions(params=spec.get("paramKind") is not None, variables=True, patches=True)
    errors = policies.validate_head(spec, old, expressions, mutating=True)
    mutations, again = spec.get("mutations") or [], spec.get("reinvocationPolicy", "")
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for i, mutation in enumerate(mutations):
        errors += _validate_mutation(mutation, expressions, f"spec.mutations[{i}]")
    if not again:
        errors.append(required("spec.reinvocationPolicy"))
    elif again not in _REINVOCATION:
        errors.append(not_supported("spec.reinvocationPolicy", again, _REINVOCATION))
    return errors


def _validate_mutation(mutation: Object, expressions: Expressions, path: str) -> list[FieldError]:
    from kapi.cel.policies import OBJECT, PATCHES  # CEL loads slowly, and most servers meet no expression

    kind = mutation.get("patchType", "")
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _PATCHES:
        return [not_supported(f"{path}.patchType", kind, tuple(_PATCHES))]
    field = _PATCHES[kind]
    patch = mutation.get(field)
    errors: list[FieldError] = []
    if patch is None:
        errors.append(required(f"{path}.{field}", f"must be specified when patchType is {kind}"))
    elif not patch.get("expression", "").strip():
        errors.append(required(f"{path}.{field}.expression"))
    else:
        needed = OBJECT if kind == "ApplyConfiguration" else PATCHES
        errors += expressions.check(patch["expression"], f"{path}.{field}.expression", needed)
    for other in _PATCHES.values():
        if other != field and mutation.get(other) is not None:
            why = f"must not be specified when patchType is {kind}"
            errors.append(invalid(f"{path}.{other}", f"{{{other}}}", why))
    return errors


RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingAdmissionPolicy",
    strategy=Strategy(
        any_finalizer=True,
        default=policies.default,
        prepare_for_create=policies.prepare_for_create,
        prepare_for_update=policies.prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=policies.warnings,
        unconditional_update=False,
    ),
    columns=(
        NAME,
        Column("Mutations", lambda policy: len(policy["spec"].get("mutations") or ()), type="integer"),
        Column("ParamKind", param_kind),
        AGE,
    ),
)
