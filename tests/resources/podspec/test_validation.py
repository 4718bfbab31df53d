from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kapi.api.settings import Settings
from kapi.resources.podspec.defaults import default_pod_spec
from kapi.resources.podspec.validation import validate_pod_spec, validate_pod_template

WEB: dict[str, Any] = {"name": "web", "image": "nginx:1.27", "resources": {}}


def problems(allow_privileged: bool = False, **spec: Any) -> list[str]:
    """Of a template's spec."""
    call: Any = SimpleNamespace(settings=Settings(allow_privileged=allow_privileged))
    filled = {"containers": [WEB | {}]} | spec
    default_pod_spec(filled)
    return [str(e) for e in validate_pod_spec(call, filled, None, "spec")]


def of_container(**fields: Any) -> list[str]:
    volumes = [{"name": "v", "emptyDir": {}}]
    found = problems(containers=[WEB | fields], volumes=volumes)
    return [text.removeprefix("spec.containers[0].") for text in found]


def of_volume(**source: Any) -> list[str]:
    found = problems(volumes=[{"name": "v"} | source])
    return [text.removeprefix("spec.volumes[0].") for text in found]


def test_a_plain_spec_is_fine() -> None:
    assert problems() == []


def test_every_problem_is_found_in_the_order_of_the_spec() -> None:
    broken = {"name": "Web", "resources": {}, "ports": [{"containerPort": 0, "protocol": "TCP"}]}
    found = problems(containers=[broken], restartPolicy="Often", nodeName="No")
    assert [text.partition(":")[0] for text in found] == [
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.containers[0].ports[0].containerPort",
        "spec.restartPolicy",
        "spec.nodeName",
    ]
    assert (
        found[3] == 'spec.restartPolicy: Unsupported value: "Often": supported values: "Always", "OnFailure", "Never"'
    )


def test_a_template_holds_no_ephemeral_containers() -> None:
    template = {"metadata": {}, "spec": {"containers": [WEB | {}], "ephemeralContainers": [WEB | {"name": "d"}]}}
    default_pod_spec(template["spec"])
    call: Any = SimpleNamespace(settings=Settings())
    assert [str(e) for e in validate_pod_template(call, template, "spec.template")] == [
        "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template"
    ]


def test_names_of_containers_are_unique_among_all_kinds() -> None:
    assert problems(initContainers=[WEB | {}]) == ['spec.initContainers[0].name: Duplicate value: "web"']


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"ports": [{"name": "a--b-", "containerPort": 1, "protocol": "TCP"}]},
            [
                'ports[0].name: Invalid value: "a--b-": must not contain consecutive hyphens',
                'ports[0].name: Invalid value: "a--b-": must not begin or end with a hyphen',
            ],
        ),
        ({"env": [{"name": "A=B"}]}, ["env[0].name"]),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            [
                'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
                "`configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.containers"}}}]},
            [
                'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.containers": error converting fieldPath: '
                "field label not supported: spec.containers"
            ],
        ),
        ({"volumeMounts": [{"name": "x", "mountPath": "/"}]}, ['volumeMounts[0].name: Not found: "x"']),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]},
            ['volumeMounts[1].mountPath: Invalid value: "/a": must be unique'],
        ),
        (
            {"livenessProbe": {"exec": {"command": ["x"]}, "successThreshold": 2}},
            ["livenessProbe.successThreshold: Invalid value: 2: must be 1"],
        ),
        (
            {"readinessProbe": {"tcpSocket": {"port": ""}}},
            ['readinessProbe.tcpSocket.port: Invalid value: "": must contain only alpha-numeric characters'],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
            [
                "lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than "
                "terminationGracePeriodSeconds (30)"
            ],
        ),
        (
            {"resources": {"requests": {"example.com/gpu": "1"}}},
            ["resources.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (
            {"resources": {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}}},
            [
                'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of '
                "hugepages-2Mi"
            ],
        ),
        ({"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]}, ["resizePolicy"]),
        (
            {"securityContext": {"privileged": True}},
            ["securityContext.privileged: Forbidden: disallowed by cluster policy"],
        ),
        ({"restartPolicyRules": [{"action": "Restart"}]}, ["restartPolicy", "restartPolicyRules[0].exitCodes"]),
    ],
)
def test_a_container_is_told_what_is_wrong_with_it(fields: dict[str, Any], expected: list[str]) -> None:
    found = of_container(**fields)
    assert [text[: len(want)] for text, want in zip(found, expected, strict=False)] == expected
    assert {text.partition(":")[0] for text in found} == {want.partition(":")[0] for want in expected}


def test_privileged_containers_are_the_cluster_s_choice() -> None:
    assert problems(allow_privileged=True, containers=[WEB | {"securityContext": {"privileged": True}}]) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"emptyDir": {}, "hostPath": {"path": "/"}, "cephfs": {"monitors": ["m"]}},
            [
                "hostPath: Forbidden: may not specify more than 1 volume type",
                "cephFS: Forbidden: may not specify more than 1 volume type",
            ],
        ),
        ({"hostPath": {"path": "/a/../b"}}, ["hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"]),
        ({"gcePersistentDisk": {}}, ["persistentDisk.pdName: Required value"]),
        (
            {"configMap": {"name": "c", "items": [{"key": "k", "path": "../p"}]}},
            ["configMap.items[0].path: Invalid value: \"../p\": must not contain '..'"],
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}},
            [
                "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a "
                "duration less than 10 minutes"
            ],
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"name": "a/b:c", "path": "p"}}]}},
            [
                'projected.sources[0].clusterTrustBundle.name: Invalid value: "a/b:c": not a valid '
                "clustertrustbundlename: ClusterTrustBundle for signerName a/b must be named with prefix a:b:"
            ],
        ),
        (
            {"projected": {"sources": [{"clusterTrustBundle": {"signerName": "a/b", "path": "p"}}]}},
            [
                'projected.sources[0].clusterTrustBundle.signerName: Invalid value: "a": should be a domain with at '
                "least two segments separated by dots"
            ],
        ),
        ({"csi": {"driver": "x" * 64}}, ["csi.driver: Too long: may not be more than 63 bytes"]),
        ({"ephemeral": {}}, ["ephemeral.volumeClaimTemplate: Required value"]),
        (
            {"downwardAPI": {"items": [{"path": "a"}]}},
            ["downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
        ),
    ],
)
def test_a_volume_has_one_valid_source(source: dict[str, Any], expected: list[str]) -> None:
    assert of_volume(**source) == expected


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"operator": "Exists"}, []),
        ({"key": "a", "operator": "Gt", "value": "1"}, ["operator"]),
        ({"key": "a", "operator": "Exists", "value": "x"}, ["operator"]),
        ({"key": "a b", "value": "c d"}, ["key", "operator"]),
        ({"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}, ["effect"]),
    ],
)
def test_a_toleration_says_what_it_tolerates(toleration: dict[str, Any], expected: list[str]) -> None:
    found = [text.partition(":")[0] for text in problems(tolerations=[toleration])]
    assert found == [f"spec.tolerations[0].{field}" for field in expected]


def test_spread_constraints_do_not_repeat_and_their_keys_are_selected_by() -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    keyed = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway", "matchLabelKeys": ["a"]}
    assert problems(topologySpreadConstraints=[constraint, constraint, keyed]) == [
        'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
        "spec.topologySpreadConstraints[2].matchLabelKeys: Forbidden: must not be specified when labelSelector is not "
        "set",
    ]


def test_windows_and_linux_do_not_mix() -> None:
    context = {"runAsUser": 1, "windowsOptions": {}}
    assert problems(os={"name": "windows"}, securityContext=context) == [
        "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod"
    ]
    assert problems(os={"name": "linux"}, securityContext=context) == [
        "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod"
    ]


def test_sysctls_of_the_host_are_not_a_pod_s_to_set() -> None:
    found = problems(hostNetwork=True, securityContext={"sysctls": [{"name": "net/ipv4/x", "value": "1"}]})
    assert found == [
        'spec.securityContext.sysctls[0].name: Invalid value: "net/ipv4/x": may not be specified when '
        "'hostNetwork' is true"
    ]


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        ("10.0.0.1", ""),
        ("2001:db8::1", ""),
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:10.0.0.1", "must not be an IPv4-mapped IPv6 address"),
        ("10.0.0", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_nameservers_are_addresses(server: str, problem: str) -> None:
    expected = [f'spec.dnsConfig.nameservers[0]: Invalid value: "{server}": {problem}'] if problem else []
    assert problems(dnsConfig={"nameservers": [server]}) == expected


def test_a_search_path_may_begin_with_an_underscore() -> None:
    (problem,) = problems(dnsConfig={"searches": ["_tcp.example.com", ".", " "]})
    assert problem.startswith('spec.dnsConfig.searches[2]: Invalid value: " ": a lowercase RFC 1123 subdomain')
    assert problem.endswith(r"'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')")


def test_what_containers_request_together_fits_into_the_pod() -> None:
    containers = [WEB | {"name": name, "resources": {"requests": {"cpu": "1"}}} for name in ("a", "b")]
    assert problems(containers=containers, resources={"requests": {"cpu": "1500m"}, "limits": {"cpu": "3"}}) == [
        'spec.resources.requests[cpu]: Invalid value: "1500m": must be greater than or equal to aggregate container '
        "requests of 2"
    ]
