"""Single stack or dual: the IP families and the policy of a service, filled in from what was given and what there is.

Nothing is ever turned from one into the other without being told to.
"""

from __future__ import annotations

from kapi.api import errors
from kapi.api.addresses import IPV4, IPV6, parse_ip
from kapi.api.fields import FieldError, invalid
from kapi.api.gvk import GroupKind
from kapi.api.objects import Object
from kapi.resources.core.service_families import PREFER_DUAL, REQUIRE_DUAL, SINGLE, families_of, validate_families
from kapi.resources.core.service_rules import NONE, cluster_ips, needs_cluster_ip

KIND = GroupKind("", "Service")
_POLICY = "spec.ipFamilyPolicy"


def normalize_cluster_ips(new: Object, old: Object | None) -> None:
    """Old clients know `clusterIP` only: what they do to it is done to `clusterIPs` as well."""
    spec, ips = new["spec"], cluster_ips(new)
    ip = spec.get("clusterIP") or ""
    if old is None:
        if ip and not ips:
            spec["clusterIPs"] = [ip]
        return
    before, first = cluster_ips(old), old["spec"].get("clusterIP") or ""
    if before and not ips and ip == first:
        spec["clusterIPs"] = before
    elif ip != first and ips == before:
        if ip:
            spec["clusterIPs"] = [ip]
        else:
            spec.pop("clusterIPs", None)


def stays_as_it_is(new: Object, old: Object | None) -> bool:
    """A service that prefers dual stack keeps what it got, also when the cluster's stacks have changed since."""
    if old is None:
        return False
    spec, was = new["spec"], old["spec"]
    return (
        spec.get("ipFamilyPolicy") == PREFER_DUAL
        and was.get("ipFamilyPolicy") in (None, PREFER_DUAL)
        and spec.get("type") == was.get("type")
        and needs_cluster_ip(new)
        and cluster_ips(new) == cluster_ips(old)
        and families_of(new) == families_of(old)
    )


def fill_families(new: Object, old: Object | None, configured: tuple[str, ...]) -> None:
    """As upstream's initIPFamilyFields. `configured` are the cluster's families, the default first."""
    if not needs_cluster_ip(new) or stays_as_it_is(new, old):
        return
    spec = new["spec"]
    bare = spec.get("clusterIP") == NONE and not spec.get("selector")  # headless, and endpoints are the user's
    if spec.get("ipFamilyPolicy") is None:
        before = old["spec"].get("ipFamilyPolicy") if old is not None else None
        spec["ipFamilyPolicy"] = before or (REQUIRE_DUAL if bare else SINGLE)
    _refuse(new, validate_families(new, old))
    found = _reduce(new, old) if old is not None else []
    found += _check_single(new)
    found += _infer(new, configured)
    _refuse(new, found)
    if bare:
        # The endpoints may be of any family, whatever the cluster's own are.
        _add_missing(spec, configured[0], dual=spec["ipFamilyPolicy"] != SINGLE)
        return
    _refuse(new, _check_configured(new, configured))
    _add_missing(spec, configured[0], dual=spec["ipFamilyPolicy"] != SINGLE and len(configured) == 2)


def _reduce(new: Object, old: Object) -> list[FieldError]:
    """Only asking for a single stack gives the second one up."""
    spec = new["spec"]
    ips, families = cluster_ips(new), families_of(new)
    policy = spec["ipFamilyPolicy"]
    if policy == SINGLE:
        if ips == cluster_ips(old) and len(ips) > 1:
            spec["clusterIPs"] = ips[:1]
        if families == families_of(old) and len(families) > 1:
            spec["ipFamilies"] = families[:1]
        return []
    found = []
    if ips and len(ips) < len(cluster_ips(old)):
        found.append(invalid(_POLICY, policy, "must be 'SingleStack' to release the secondary cluster IP"))
    if families and len(families) < len(families_of(old)):
        found.append(invalid(_POLICY, policy, "must be 'SingleStack' to release the secondary IP family"))
    return found


def _check_single(new: Object) -> list[FieldError]:
    if new["spec"]["ipFamilyPolicy"] != SINGLE:
        return []
    dual = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
    found = []
    if len(cluster_ips(new)) == 2:
        found.append(invalid(_POLICY, SINGLE, f"{dual} cluster IPs are specified"))
    if len(families_of(new)) == 2:
        found.append(invalid(_POLICY, SINGLE, f"{dual} IP families are specified"))
    return found


def _infer(new: Object, configured: tuple[str, ...]) -> list[FieldError]:
    """The families of addresses that came without."""
    ips, families = cluster_ips(new), families_of(new)
    found = []
    for i, text in enumerate(ips):
        ip = parse_ip(text)
        if ip is None or i < len(families):
            continue
        if ip.family not in configured:
            found.append(invalid(f"spec.clusterIPs[{i}]", ips, f"{ip.family} is not configured on this cluster"))
        else:
            families.append(ip.family)
    if families:
        new["spec"]["ipFamilies"] = families
    return found


def _check_configured(new: Object, configured: tuple[str, ...]) -> list[FieldError]:
    policy = new["spec"]["ipFamilyPolicy"]
    found = []
    if policy == REQUIRE_DUAL and len(configured) < 2:
        found.append(invalid(_POLICY, policy, "this cluster is not configured for dual-stack services"))
    found += [
        invalid(f"spec.ipFamilies[{i}]", family, "not configured on this cluster")
        for i, family in enumerate(families_of(new))
        if family not in configured
    ]
    return found


def _add_missing(spec: Object, default: str, *, dual: bool) -> None:
    families = list(spec.get("ipFamilies") or (default,))
    if dual and len(families) == 1:
        families.append(IPV6 if families[0] == IPV4 else IPV4)
    spec["ipFamilies"] = families


def _refuse(new: Object, found: list[FieldError]) -> None:
    if found:
        raise errors.Invalid(KIND, new["metadata"].get("name", ""), found)
