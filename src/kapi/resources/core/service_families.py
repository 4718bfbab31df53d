"""Cluster addresses, IP families and the family policy of a service: how they must fit each other.

Used by validation, and by allocation before it fills in what is missing.
"""

from __future__ import annotations

from kapi.api.addresses import IPV4, IPV6, is_ipv6, validate_ip
from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.resources.core.service_rules import NONE, cluster_ips, is_headless

SINGLE, PREFER_DUAL, REQUIRE_DUAL = "SingleStack", "PreferDualStack", "RequireDualStack"
_POLICIES = (SINGLE, PREFER_DUAL, REQUIRE_DUAL)
_FIXED = "may not change once set"


def families_of(service: Object) -> list[str]:
    return list((service.get("spec") or {}).get("ipFamilies") or ())


def validate_families(new: Object, old: Object | None) -> list[FieldError]:
    """As upstream's ValidateServiceClusterIPsRelatedFields."""
    spec = new["spec"]
    if spec.get("type") == "ExternalName":
        return []
    ips = cluster_ips(new)
    errors = _validate_first(spec.get("clusterIP") or "", ips)
    seen: set[str] = set()
    for i, family in enumerate(families_of(new)):
        path = f"spec.ipFamilies[{i}]"
        if family not in (IPV4, IPV6):
            errors.append(not_supported(path, family, (IPV4, IPV6)))
        if family in seen:
            errors.append(duplicate(path, family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    bad = _validate_ips(ips, cluster_ips(old) if old is not None else [])
    errors += bad
    if len(ips) > 2:
        errors.append(invalid("spec.clusterIPs", ips, "may only hold up to 2 values"))
    # Further words about addresses that are none would only confuse.
    return errors if bad else errors + _validate_match(new, ips)


def _validate_first(singular: str, ips: list[str]) -> list[FieldError]:
    path = "spec.clusterIPs"
    if not singular:
        return [invalid(path, ips, "must be empty when `clusterIP` is not specified")] if ips else []
    if not ips:
        return [required(path)]
    return [invalid(path, ips, "first value must match `clusterIP`")] if ips[0] != singular else []


def _validate_ips(ips: list[str], known: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, ip in enumerate(ips):
        if i == 0 and ip == NONE:
            if len(ips) > 1:
                errors.append(invalid("spec.clusterIPs", ips, "'None' must be the first and only value"))
            continue
        errors += validate_ip(f"spec.clusterIPs[{i}]", ip, known)
    return errors


def _validate_match(new: Object, ips: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(ips) > 1 and len({is_ipv6(ip) for ip in ips}) == 1:
        errors.append(invalid("spec.clusterIPs", ips, "may specify no more than one IP for each IP family"))
    if is_headless(new):
        return errors
    for i, (ip, family) in enumerate(zip(ips, families_of(new), strict=False)):
        if family in (IPV4, IPV6) and is_ipv6(ip) != (family == IPV6):
            text = f"expected an {family} value as indicated by `ipFamilies[{i}]`"
            errors.append(invalid(f"spec.clusterIPs[{i}]", ip, text))
    return errors


def validate_families_update(new: Object, old: Object) -> list[FieldError]:
    """A second address or family may come and go; the first stays, except to, from or on ExternalName."""
    if "ExternalName" in (new["spec"].get("type"), old["spec"].get("type")):
        return []
    headless, was_headless = is_headless(new), is_headless(old)
    errors: list[FieldError] = []
    if not (headless and was_headless):
        errors += _ips_update(new, cluster_ips(new), cluster_ips(old))
    if not headless and not was_headless:
        errors += _families_update(new, families_of(new), families_of(old))
    return errors


def _ips_update(new: Object, ips: list[str], before: list[str]) -> list[FieldError]:
    path = "spec.clusterIPs"
    if len(ips) == len(before):
        return [
            invalid(f"{path}[{i}]", ips, _FIXED)
            for i, (ip, was) in enumerate(zip(ips, before, strict=True))
            if ip != was
        ]
    errors: list[FieldError] = []
    if not ips:
        errors.append(invalid(f"{path}[0]", None, "primary clusterIP can not be unset"))
    elif before and ips[0] != before[0]:
        errors.append(invalid(f"{path}[0]", ips, _FIXED))
    if len(ips) == 1 < len(before):
        errors += _must_be_single(new, "clusterIP")
    return errors


def _families_update(new: Object, families: list[str], before: list[str]) -> list[FieldError]:
    path = "spec.ipFamilies[0]"
    if len(families) == len(before):
        return [invalid(path, families, _FIXED) for f, was in zip(families, before, strict=True) if f != was]
    ips = cluster_ips(new)
    errors: list[FieldError] = []
    if len(before) > len(families) and not ips:
        errors.append(invalid(path, families or None, "primary ipFamily can not be unset"))
    if families and before and families[0] != before[0]:
        errors.append(invalid(path, ips, _FIXED))
    if len(families) == 1 < len(before):
        errors += _must_be_single(new, "ipFamily")
    return errors


def _must_be_single(new: Object, what: str) -> list[FieldError]:
    policy = new["spec"].get("ipFamilyPolicy")
    if policy == SINGLE:
        return []
    text = f"must be set to 'SingleStack' when releasing the secondary {what}"
    return [invalid("spec.ipFamilyPolicy", policy, text)]
