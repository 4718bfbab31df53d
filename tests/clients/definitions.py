"""Definitions as large projects ship them: hundreds of fields, deep nesting, rules, unions, several versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.server_process import Client

Schema = dict[str, Any]
# What a generator of definitions carries over from a type of Kubernetes.
_KEPT = ("type", "format", "required", "default", "enum", "x-kubernetes-map-type")
_LISTS = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys")


def text(**more: Any) -> Schema:
    return {"type": "string", **more}


def number(**more: Any) -> Schema:
    return {"type": "integer", "format": "int32", **more}


def flag(**more: Any) -> Schema:
    return {"type": "boolean", **more}


def listing(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def list_map(items: Schema, *keys: str, **more: Any) -> Schema:
    return listing(items, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}, **more)


def shape(required: str = "", rules: Mapping[str, str] | None = None, /, **properties: Schema) -> Schema:
    """An object; `rules` are messages by rule."""
    made: Schema = {"type": "object", "properties": properties}
    if required:
        made["required"] = required.split()
    if rules:
        made["x-kubernetes-validations"] = [{"rule": rule, "message": message} for rule, message in rules.items()]
    return made


NAME = text(minLength=1, maxLength=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
CONDITION = shape(
    "type status",
    type=text(maxLength=316),
    status=text(enum=["True", "False", "Unknown"]),
    reason=text(maxLength=1024),
    message=text(maxLength=32768),
    observedGeneration={"type": "integer", "format": "int64", "minimum": 0},
    lastTransitionTime=text(format="date-time"),
)
CONDITIONS = list_map(CONDITION, "type", maxItems=8)
KEY_REFERENCE = shape("name", name=NAME, key=text())


def definition(
    group: str,
    kind: str,
    *versions: tuple[str, Schema, Schema],
    plural: str = "",
    **more: Any,
) -> dict[str, Any]:
    """Versions are (name, schema, what else it has); the first one is stored."""
    plural = plural or f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": more.pop("scope", "Namespaced"),
            "names": {"plural": plural, "kind": kind, **more},
            "versions": [
                {"name": name, "served": True, "storage": not place, "schema": {"openAPIV3Schema": schema}, **others}
                for place, (name, schema, others) in enumerate(versions)
            ],
        },
    }


def certificate(group: str) -> dict[str, Any]:
    """Something that is issued, renewed and kept in a secret."""
    keystore = shape("create", create=flag(), alias=text(maxLength=250), passwordSecretRef=KEY_REFERENCE)
    strings = listing(text())
    subject = shape(
        **dict.fromkeys(("organizations", "countries", "localities", "provinces", "streetAddresses"), strings),
        serialNumber=text(),
    )
    private_key = shape(
        "",
        {
            "!has(self.size) || self.algorithm != 'RSA' || self.size in [2048, 3072, 4096]": "not a size of RSA keys",
            "!has(self.size) || self.algorithm != 'Ed25519'": "Ed25519 keys have no size",
        },
        algorithm=text(enum=["RSA", "ECDSA", "Ed25519"], default="RSA"),
        encoding=text(enum=["PKCS1", "PKCS8"], default="PKCS8"),
        size=number(),
        rotationPolicy=text(enum=["Never", "Always"]),
    )
    spec = shape(
        "secretName issuerRef",
        {
            "size(self.dnsNames) > 0 || has(self.commonName)": "it must be for somebody",
            "!has(self.duration) || !has(self.renewBefore) || duration(self.renewBefore) < duration(self.duration)": (
                "renewal comes before the end"
            ),
            "self.issuerRef.kind == oldSelf.issuerRef.kind": "the kind of issuer stays",
        },
        secretName=NAME,
        commonName=text(maxLength=64),
        dnsNames=listing(text(maxLength=253), default=[], maxItems=100),
        ipAddresses=listing(text(format="ipv4"), maxItems=100),
        duration=text(pattern=r"^([0-9]+(s|m|h))+$", maxLength=32),
        renewBefore=text(pattern=r"^([0-9]+(s|m|h))+$", maxLength=32),
        issuerRef=shape("name", name=NAME, kind=text(default="Issuer", maxLength=64), group=text()),
        privateKey={**private_key, "default": {}},
        subject=subject,
        keystores=shape(jks=keystore, pkcs12=keystore),
        secretTemplate=shape(
            annotations={"type": "object", "additionalProperties": text()},
            labels={"type": "object", "additionalProperties": text()},
        ),
        usages=listing(text(enum=["signing", "digital signature", "server auth", "client auth"])),
        revisionHistoryLimit=number(minimum=1),
    )
    status = shape(conditions=CONDITIONS, notAfter=text(format="date-time"), revision=number())
    columns = [
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Secret", "type": "string", "jsonPath": ".spec.secretName"},
        {"name": "Issuer", "type": "string", "jsonPath": ".spec.issuerRef.name", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    others = {"subresources": {"status": {}}, "additionalPrinterColumns": columns}
    selectable = {"selectableFields": [{"jsonPath": ".spec.secretName"}]}
    version = ("v1", shape("spec", spec=spec, status=status), {**others, **selectable})
    return definition(group, "Certificate", version, shortNames=["cert"], categories=["own"])


def rollout(group: str, client: Client) -> dict[str, Any]:
    """A workload with the whole template of a pod inside, as generators write it from Kubernetes' own types."""
    known = client.get("/openapi/v3/apis/apps/v1")["components"]["schemas"]
    step = shape(
        "",
        {"[has(self.setWeight), has(self.pause)].filter(b, b).size() == 1": "exactly one of setWeight and pause"},
        setWeight=number(minimum=0, maximum=100),
        pause=shape(duration={"x-kubernetes-int-or-string": True}),
    )
    surge = {"x-kubernetes-int-or-string": True, "default": "25%"}
    spec = shape(
        "selector template",
        replicas=number(default=1, minimum=0),
        selector=structural(known, "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"),
        template=structural(known, "io.k8s.api.core.v1.PodTemplateSpec"),
        strategy=shape(canary=shape(maxSurge=surge, steps=listing(step, maxItems=20))),
    )
    status = shape(replicas=number(), selector=text(), conditions=CONDITIONS)
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    others = {"subresources": {"status": {}, "scale": scale}}
    return definition(group, "Rollout", ("v1alpha1", shape(spec=spec, status=status), others), shortNames=["ro"])


def structural(known: Mapping[str, Any], name: str) -> Schema:
    """A type of Kubernetes with everything it refers to written out."""
    if name.endswith((".Quantity", ".IntOrString")):
        return {"x-kubernetes-int-or-string": True}
    if name.endswith(".ObjectMeta"):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return _inlined(known, known[name])


def _inlined(known: Mapping[str, Any], schema: Mapping[str, Any]) -> Schema:
    for part in (schema, *schema.get("allOf", ())):
        if "$ref" in part:
            return structural(known, part["$ref"].rpartition("/")[2])
    made = {key: schema[key] for key in _KEPT if schema.get(key)}
    if "items" in schema:
        made["items"] = _inlined(known, schema["items"])
        made |= {key: schema[key] for key in _LISTS if key in schema}
        if made.get("x-kubernetes-list-type") == "map":
            _complete_keys(made)
    if "properties" in schema:
        made["properties"] = {name: _inlined(known, below) for name, below in schema["properties"].items()}
    if "additionalProperties" in schema:
        made["additionalProperties"] = _inlined(known, schema["additionalProperties"])
    return made


def _complete_keys(made: Schema) -> None:
    """A key of a list must be required, or have a default."""
    items = made["items"]
    required = items.setdefault("required", [])
    for key in made["x-kubernetes-list-map-keys"]:
        if key not in required and "default" not in items["properties"][key]:
            required.append(key)


def route(group: str) -> dict[str, Any]:
    """Matches, filters and references: unions by rule, lists in lists, defaults in items."""
    header = shape("name value", name=text(maxLength=256), value=text(maxLength=4096))
    headers = list_map(header, "name", maxItems=16)
    match_path = shape(
        "",
        {
            "self.type == 'RegularExpression' || self.value.startsWith('/')": "value must be an absolute path",
            "self.type != 'Exact' || !self.value.contains('//')": "must not contain '//'",
        },
        type=text(enum=["Exact", "PathPrefix", "RegularExpression"], default="PathPrefix"),
        value=text(default="/", maxLength=1024),
    )
    header_filter = shape(set=headers, add=headers, remove=listing(text(maxLength=64), maxItems=16))
    redirect = shape(
        scheme=text(enum=["http", "https"]), hostname=NAME, statusCode=number(enum=[301, 302], default=302)
    )
    one_filter = shape(
        "type",
        {
            "(self.type == 'Headers') == has(self.headers)": "headers go with the type Headers",
            "(self.type == 'Redirect') == has(self.redirect)": "redirect goes with the type Redirect",
        },
        type=text(enum=["Headers", "Redirect"]),
        headers=header_filter,
        redirect=redirect,
    )
    backend = shape(
        "name",
        {"self.kind != 'Service' || has(self.port)": "Must have port for Service reference"},
        name=NAME,
        kind=text(default="Service", maxLength=63),
        namespace=text(maxLength=63),
        port=number(minimum=1, maximum=65535),
        weight=number(default=1, minimum=0, maximum=1000000),
        filters=listing(one_filter, maxItems=4),
    )
    rule = shape(
        "",
        {
            "!has(self.backendRefs) || size(self.backendRefs) == 0 || !has(self.filters) || "
            "!self.filters.exists(f, f.type == 'Redirect')": "a redirect has no backends"
        },
        name=text(maxLength=253),
        matches=listing(
            shape(path={**match_path, "default": {"type": "PathPrefix", "value": "/"}}, headers=headers),
            maxItems=16,
            default=[{"path": {"type": "PathPrefix", "value": "/"}}],
        ),
        filters=listing(one_filter, maxItems=8),
        backendRefs=listing(backend, maxItems=16),
        timeouts=shape(request=text(pattern=r"^([0-9]{1,5}(h|m|s|ms)){1,4}$", maxLength=24)),
    )
    parent = shape("name", name=NAME, kind=text(default="Gateway", maxLength=63), sectionName=text(maxLength=253))
    unique = "self.all(a, self.exists_one(b, a.name == b.name && (has(a.sectionName) ? a.sectionName : '') == "
    unique += "(has(b.sectionName) ? b.sectionName : '')))"
    parents = listing(parent, maxItems=8)
    parents["x-kubernetes-validations"] = [{"rule": unique, "message": "sectionName must be unique"}]
    spec = shape(
        parentRefs=parents,
        hostnames=listing(text(maxLength=253), maxItems=16),
        rules=listing(rule, maxItems=8, default=[{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]),
    )
    status = shape("parents", parents=listing(shape(parentRef=parent, conditions=CONDITIONS), maxItems=32))
    return definition(group, "Route", ("v1", shape("spec", spec=spec, status=status), {"subresources": {"status": {}}}))


def composite(group: str) -> dict[str, Any]:
    """Cluster-wide, in two versions, with a part that is whatever its provider wants."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    manifest = {**free, "x-kubernetes-embedded-resource": True}
    reference = shape("name", name=text())
    spec = shape(
        compositionRef=reference,
        compositionSelector=shape(matchLabels={"type": "object", "additionalProperties": text()}),
        compositionUpdatePolicy=text(enum=["Automatic", "Manual"], default="Automatic"),
        parameters=free,
        resources=listing(shape("name base", name=text(), base=manifest), maxItems=20),
        resourceRefs=listing(
            shape("apiVersion kind", apiVersion=text(), kind=text(), name=text()),
            **{"x-kubernetes-list-type": "atomic"},
        ),
        deletionPolicy=text(enum=["Orphan", "Delete"], default="Delete"),
    )
    whole = shape(spec=spec, status={**free, "properties": {"conditions": CONDITIONS}})
    others = {"subresources": {"status": {}}}
    return definition(
        group,
        "Composite",
        ("v1beta1", whole, others),
        ("v1alpha1", whole, {**others, "deprecated": True}),
        scope="Cluster",
        categories=["composed"],
    )
