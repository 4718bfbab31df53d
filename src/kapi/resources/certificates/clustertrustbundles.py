"""ClusterTrustBundles: certificates of authorities that the cluster trusts, some of them on behalf of a signer."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, too_long
from kapi.api.objects import Object
from kapi.registry.resource import Resource, metadata_fields
from kapi.registry.strategy import Strategy
from kapi.registry.table import NAME, Column
from kapi.resources.certificates import pem
from kapi.resources.certificates.signers import validate_signer_name, wrong_with_bundle_name

_MAX_BYTES = 1024 * 1024
_HIDDEN = "<value omitted>"


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new, None)


def validate_name_of(new: Object) -> Callable[[str], list[str]]:
    signer = new["spec"].get("signerName", "")
    return lambda name: wrong_with_bundle_name(name, signer)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    name = new["metadata"].get("name", "")
    errors = [invalid("metadata.name", name, e) for e in validate_name_of(new)(name)]
    errors += _validate(new, old)
    signer = new["spec"].get("signerName", "")
    if signer != old["spec"].get("signerName", ""):
        errors.append(invalid("spec.signerName", signer, "field is immutable"))
    return errors


def _validate(new: Object, old: Object | None) -> list[FieldError]:
    signer, bundle = new["spec"].get("signerName", ""), new["spec"].get("trustBundle", "")
    errors = validate_signer_name(signer, "spec.signerName") if signer else []
    if old is None or old["spec"].get("trustBundle") != bundle:
        errors += _validate_bundle(bundle, "spec.trustBundle")
    return errors


def _validate_bundle(bundle: str, path: str) -> list[FieldError]:
    if len(bundle.encode()) > _MAX_BYTES:
        return [too_long(path, _MAX_BYTES)]
    errors: list[FieldError] = []
    places: dict[bytes, list[int]] = {}
    for i, block in enumerate(pem.blocks(bundle.encode())):
        why = _wrong_with_anchor(block)
        if why:
            errors.append(invalid(path, _HIDDEN, f"entry {i} {why}"))
        places.setdefault(block.content, []).append(i)
    if errors:
        return errors
    if not places:
        return [invalid(path, _HIDDEN, "at least one trust anchor must be provided")]
    return [
        invalid(path, _HIDDEN, f"duplicate trust anchor (indices [{' '.join(map(str, found))}])")
        for found in places.values()
        if len(found) > 1
    ]


def _wrong_with_anchor(block: pem.Block) -> str:
    from cryptography import x509

    if block.type != "CERTIFICATE":
        return f"has bad block type: {block.type}"
    if block.headers:
        return "has PEM block headers"
    certificate = pem.parse_certificate(block.content)
    if certificate is None:
        return "does not parse as X.509"
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return "does not have the CA bit set"
    return "" if constraints.ca else "does not have the CA bit set"


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "spec.signerName": decoded["spec"].get("signerName", "")}


RESOURCE = Resource(
    group="certificates.k8s.io",
    version="v1",
    kind="ClusterTrustBundle",
    strategy=Strategy(
        validate=validate,
        validate_update=validate_update,
        validate_name_of=validate_name_of,
        unconditional_update=False,
    ),
    columns=(NAME, Column("SignerName", lambda bundle: bundle["spec"].get("signerName") or "<none>")),
    fields_of=fields_of,
    field_names=("spec.signerName",),
)
