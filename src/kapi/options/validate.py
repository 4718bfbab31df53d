"""Validation: everything that is wrong with the options, at once. Nothing is changed, nothing is written."""

from __future__ import annotations

from collections.abc import Mapping

from kapi.options.addresses import NoAddress, advertise_address
from kapi.options.etcd import PROTOBUF
from kapi.options.flag import Flag, Later, Refused
from kapi.options.runtime_config import normalize, runtime_config_problem
from kapi.options.server_run_options import ServerRunOptions, all_flags
from kapi.options.service_ips import service_ip_problems, service_ips


def validate(options: ServerRunOptions) -> list[str]:
    """Every error: of single flags, then of each group's flags together, then between groups."""
    errors = []
    for item in all_flags():
        if (problem := _flag_problem(options, item)) is not None:
            errors.append(problem)
    for group in options.groups():
        errors += group.validate()
    return errors + _between_groups(options)


def pending(options: ServerRunOptions) -> list[str]:
    """The flags that were given and take effect only later, each with what happens meanwhile."""
    messages = []
    for item in all_flags():
        standing = item.declared.standing
        if item.name not in options.given or not isinstance(standing, Later):
            continue
        if options.value(item) not in standing.agrees:
            messages.append(f"--{item.name} takes effect in a later release; meanwhile {standing.meanwhile}")
    return messages


def _flag_problem(options: ServerRunOptions, item: Flag) -> str | None:
    declared, value = item.declared, options.value(item)
    if isinstance(declared.standing, Refused):
        if value == declared.default or value in declared.standing.agrees:
            return None
        return f"--{item.name}={declared.kind.show(value)} is not supported: {declared.standing.reason}"
    problem = declared.check(value) if declared.check is not None else None
    return f"--{item.name} {problem}" if problem is not None else None


def _between_groups(options: ServerRunOptions) -> list[str]:
    errors = options.authentication.configuration_problems(options.given)
    errors += options.authorization.configuration_problems(options.given)
    if "storage-media-type" in options.given and options.etcd.storage_media_type == PROTOBUF:
        errors.append(
            f"--storage-media-type={PROTOBUF} is not supported: objects are stored as application/json for now; "
            "leave the flag out, or say application/json"
        )
    errors += _needed_apis(options.api_enablement.runtime_config)
    if options.features.enable_priority_and_fairness:
        errors += _fairness_conflict(options.api_enablement.runtime_config)
    misc = options.misc
    if misc.endpoint_reconciler_type != "none" and not service_ip_problems(misc.service_cluster_ip_range):
        errors += _family_conflict(options)
    return errors


def _needed_apis(runtime_config: Mapping[str, str]) -> list[str]:
    """The aggregator serves nothing without its own."""
    if runtime_config_problem(runtime_config):
        return []  # told already
    config, needed = normalize(runtime_config), "apiregistration.k8s.io/v1"
    if config.get(needed, config.get("api/ga", config.get("api/all", True))):
        return []
    return [f"API group/version {needed} must be enabled"]


def _fairness_conflict(runtime_config: Mapping[str, str]) -> list[str]:
    """As upstream: the most specific of these decides whether the API that fairness is configured by is served."""
    for key in ("flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"):
        if runtime_config.get(key) == "false":
            return [f"--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"]
        if runtime_config.get(key) == "true":
            break
    return []


def _family_conflict(options: ServerRunOptions) -> list[str]:
    """The kubernetes service and the address behind it must be of one family."""
    try:
        address = advertise_address(options.generic.advertise_address, options.secure_serving.bind_address)
    except NoAddress as error:
        return [str(error)]
    network = service_ips(options.misc.service_cluster_ip_range).primary
    if (":" in address) == (network.version == 6):
        return []
    return [f'service IP family "{network}" must match public address family "{address}"']
