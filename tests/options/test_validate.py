from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kapi.options.flag import Refused
from kapi.options.server_run_options import ServerRunOptions, all_flags
from kapi.options.validate import pending, validate

LAN = "--advertise-address=192.0.2.10"  # so that no test depends on this machine's interfaces


def errors(*arguments: str) -> list[str]:
    return validate(ServerRunOptions.read([LAN, *arguments])[0])


@pytest.fixture(scope="module")
def tls(new_etcd_tls: Callable[[], Any]) -> Any:
    """A CA, and a server's and a client's pair."""
    return new_etcd_tls()


def test_the_defaults_are_valid() -> None:
    assert errors() == []


def test_every_error_is_reported_at_once() -> None:
    found = errors("--secure-port=0", "--max-requests-inflight=-1", "--enable-logs-handler", "--storage-backend=etcd3")
    assert found == [
        "--max-requests-inflight can not be negative value",
        "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0",
        "--enable-logs-handler=true is not supported: /logs is not served yet",
        "--etcd-servers must be specified",
    ]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--livez-grace-period=-1s", "--livez-grace-period can not be a negative value"),
        ("--request-timeout=-1s", "--request-timeout can not be negative value"),
        ("--goaway-chance=0.03", "--goaway-chance can not be less than 0 or greater than 0.02"),
        ("--insecure-port=65536", "--insecure-port 65536 must be between 0 and 65535, inclusive"),
        ("--tls-min-version=VersionTLS9", None),
        ("--tls-cipher-suites=FOO", None),
        ("--authorization-mode=Foo", '--authorization-mode "Foo" is not a valid mode'),
        ("--authorization-mode=RBAC,RBAC", '--authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
        (
            "--authorization-mode=Webhook",
            "authorization-mode Webhook's authorization config file not passed",
        ),
        ("--apiserver-count=0", "--apiserver-count should be a positive number, but value '0' provided"),
        (
            "--endpoint-reconciler-type=x",
            '--endpoint-reconciler-type "x" invalid, allowed values: lease, master-count, none',
        ),
        ("--feature-gates=Nonsense=true", "--feature-gates unrecognized feature gate: Nonsense"),
        ("--feature-gates=WatchList", "--feature-gates missing bool value for WatchList"),
        (
            "--feature-gates=DynamicResourceAllocation=false",
            "--feature-gates cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
        ),
        (
            "--feature-gates=WatchList=false",
            "--feature-gates cannot set feature gate WatchList to false: this server cannot switch it",
        ),
        ("--emulated-version=1.30", "emulation version 1.30 is not between [1.34, 1.37.0]"),
        ("--emulated-version=1.38", "emulation version 1.38 is not between [1.34, 1.37.0]"),
        ("--emulated-version=abc", '--emulated-version could not parse "abc" as version'),
        (
            "--emulated-version=kube=1.35,1.36",
            "--emulated-version duplicate version flag, kube=1.35 and kube=1.36",
        ),
        ("--min-compatibility-version=1.30", "minCompatibilityVersion version 1.30 is not between [1.33, 1.37]"),
        (
            "--emulation-forward-compatible",
            "--emulation-forward-compatible cannot be set to true if the emulation version is the same as the binary "
            "version",
        ),
        ("--runtime-config=foo/v1=true", "--runtime-config unknown api groups foo/v1"),
        (
            "--runtime-config=apps/v2=true",
            "--runtime-config group version apps/v2 that has not been registered",
        ),
        ("--watch-cache-sizes=pods", "--watch-cache-sizes invalid value of watch cache size: pods"),
        ("--watch-cache-sizes=pods#x", "--watch-cache-sizes invalid size of watch cache size: pods#x"),
        ("--watch-cache-sizes=pods#-1", "--watch-cache-sizes watch cache size cannot be negative: pods#-1"),
        (
            "--service-account-max-token-expiration=59m",
            "--service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        ),
        (
            "--service-account-max-token-expiration=1193047h",
            "--service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        ),
        ("--service-account-issuer=", "service-account-issuer should not be an empty string"),
        (
            "--service-account-jwks-uri=http://a",
            "--service-account-jwks-uri requires https scheme, parsed as: http://a",
        ),
        ("--service-cluster-ip-range=nonsense", "--service-cluster-ip-range[0] is not a valid cidr"),
        ("--service-cluster-ip-range=10.0.0.0/24,x", "--service-cluster-ip-range[1] is not a valid cidr"),
        (
            "--service-cluster-ip-range=10.0.0.0/30",
            "the service cluster IP range must be at least 8 IP addresses",
        ),
        (
            "--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24",
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
        ),
        (
            "--service-cluster-ip-range=10.0.0.0/24,fd00::/112,10.1.0.0/24",
            "--service-cluster-ip-range must not contain more than two entries",
        ),
        (
            "--service-cluster-ip-range=fd00::/112",
            'service IP family "fd00::/112" must match public address family "192.0.2.10"',
        ),
        ("--kubernetes-service-node-port=80", "kubernetes service node port range 30000-32767 doesn't contain 80"),
        ("--storage-backend=etcd3", "--etcd-servers must be specified"),
        (
            "--storage-media-type=text/plain",
            '--storage-media-type "text/plain" invalid, allowed values: application/json',
        ),
        ("--runtime-config=apps", "--runtime-config runtime-config invalid key apps"),
        ("--runtime-config=api/beta=maybe", "--runtime-config invalid value api/beta=maybe"),
        (
            "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false",
            "--runtime-config=flowcontrol.apiserver.k8s.io/v1=false conflicts with --enable-priority-and-fairness=true",
        ),
        ("--enable-admission-plugins=Foo", '--enable-admission-plugins plugin "Foo" is unknown'),
        ("--logging-format=xml", '--logging-format "xml" invalid, allowed values: text, json'),
        (
            "--cors-allowed-origins=example.com",
            "--cors-allowed-origins has an invalid regular expression: "
            "regular expression does not pin to start/end of host in the origin header",
        ),
        ("--strict-transport-security-directives=max-age", None),
        ("--cors-allowed-origins=//(", None),
        ("--tls-curve-preferences=23,7", None),
        ("--requestheader-username-headers= ", "--requestheader-username-headers empty value"),
        ("--tls-cert-file=a", "--tls-cert-file and --tls-private-key-file must be specified together"),
        ("--etcd-servers=ftp://a", None),
        ("--version=v1.2.3", "--version cannot change the version that is reported"),
    ],
)
def test_a_wrong_value_is_one_error(argument: str, message: str | None) -> None:
    found = errors(argument)
    assert len(found) == 1
    if message is not None:
        assert found == [message]
    assert argument.split("=")[0].lstrip("-") in found[0] or message == found[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--service-cluster-ip-range=fd00::/64", "--endpoint-reconciler-type=none"),
        ("--service-cluster-ip-range=10.96.0.0/12,fd00:10:96::/112",),
        ("--feature-gates=AllAlpha=false,kube:WatchList=true",),
        ("--runtime-config=v1,api/legacy=false,apps/v1/deployments=true",),
        ("--cors-allowed-origins=^https://a$,//b(:|$)",),
        ("--strict-transport-security-directives=max-age=1,preload",),
        ("--runtime-config=api/all=false,v1=true,apiregistration.k8s.io/v1", "--enable-priority-and-fairness=false"),
        ("--etcd-servers=http://a:2379,https://b:2379", "--etcd-servers-overrides=/events#http://c;http://d"),
        ("--storage-media-type=application/json",),
        ("--emulated-version=1.37",),
        ("--cloud-provider=external",),
        ("--profiling=false", "--audit-log-maxage=366"),
        (
            "--tls-min-version=VersionTLS13",
            "--tls-cipher-suites=TLS_AES_128_GCM_SHA256",
            "--tls-curve-preferences=29,23",
        ),
    ],
)
def test_these_are_right(arguments: tuple[str, ...]) -> None:
    assert errors(*arguments) == []


def test_turning_every_api_off_is_refused() -> None:
    found = errors("--runtime-config=api/all=false", "--enable-priority-and-fairness=false")
    assert found == ["--runtime-config invalid runtime-config with only api/all=false"]


def test_protobuf_storage_is_refused_only_when_asked_for() -> None:
    assert len(errors("--storage-media-type=application/vnd.kubernetes.protobuf")) == 1


def test_overrides_without_the_group_are_refused() -> None:
    found = errors("--etcd-servers=http://a", "--etcd-servers-overrides=events#http://b")
    assert found[0].startswith("--etcd-servers-overrides invalid, must be of format: group/resource#servers")


def test_another_store_than_etcd_has_no_etcd_servers() -> None:
    assert len(errors("--etcd-servers=http://a", "--storage-backend=sqlite")) == 1


def test_every_refused_flag_is_refused_with_its_reason() -> None:
    samples = {"bool": "true", "int": "77", "float32": "7.5", "duration": "77s", "quantity": "1Mi"}
    pairs = ("mapStringString", "stringToString")
    for item in all_flags():
        declared = item.declared
        if not isinstance(declared.standing, Refused):
            continue
        sample = "a=b" if declared.kind.name in pairs else samples.get(declared.kind.name, "something")
        if declared.default is True:
            sample = "false"
        found = errors(f"--{item.name}={sample}")
        assert any(item.name in error and declared.standing.reason in error for error in found), item.name


def test_a_password_file_is_refused_with_the_reason() -> None:
    assert "removed from Kubernetes in 1.19" in errors("--basic-auth-file=x")[0]


@pytest.mark.parametrize(
    "flag",
    [
        "client-ca-file",
        "token-auth-file",
        "etcd-cafile",
        "service-account-key-file",
        "service-account-signing-key-file",
    ],
)
def test_a_file_that_is_not_there_is_named(flag: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert errors(f"--{flag}={missing}") == [f"--{flag} open {missing}: no such file or directory"]


def test_a_file_without_what_it_should_hold_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    assert errors(f"--client-ca-file={empty}") == [f"--client-ca-file {empty} holds no valid certificate"]
    assert errors(f"--service-account-key-file={empty}") == [
        f"--service-account-key-file {empty} holds no valid public or private key"
    ]
    assert errors(f"--service-account-signing-key-file={empty}") == [
        f"--service-account-signing-key-file {empty} holds no valid private key"
    ]


def test_a_certificate_and_a_key_must_belong_together(tls: Any) -> None:
    right = (f"--tls-cert-file={tls.server_cert}", f"--tls-private-key-file={tls.server_key}")
    wrong = (f"--tls-cert-file={tls.server_cert}", f"--tls-private-key-file={tls.client_key}")
    assert errors(*right) == []
    assert "are no valid pair: KEY_VALUES_MISMATCH" in errors(*wrong)[0]
    assert "failed to load SNI cert and key" in errors(f"--tls-sni-cert-key={tls.server_cert},{tls.client_key}")[0]


def test_what_a_usual_start_script_passes_is_accepted(tls: Any) -> None:
    script = (
        "--allow-privileged=true",
        "--authorization-mode=Node,RBAC",
        f"--client-ca-file={tls.ca}",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-bootstrap-token-auth=true",
        "--etcd-servers=https://127.0.0.1:2379",
        f"--etcd-cafile={tls.ca}",
        f"--etcd-certfile={tls.client_cert}",
        f"--etcd-keyfile={tls.client_key}",
        f"--kubelet-client-certificate={tls.client_cert}",
        f"--kubelet-client-key={tls.client_key}",
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
        f"--proxy-client-cert-file={tls.client_cert}",
        f"--proxy-client-key-file={tls.client_key}",
        "--requestheader-allowed-names=front-proxy-client",
        f"--requestheader-client-ca-file={tls.ca}",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        "--secure-port=6443",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={tls.server_key}",
        f"--service-account-signing-key-file={tls.server_key}",
        "--service-cluster-ip-range=10.96.0.0/12",
        f"--tls-cert-file={tls.server_cert}",
        f"--tls-private-key-file={tls.server_key}",
    )
    assert errors(*script) == []
    assert errors(f"--service-account-key-file={tls.server_cert}") == []


def test_one_ca_for_clients_and_front_proxies_needs_allowed_names(tls: Any) -> None:
    both = (f"--client-ca-file={tls.ca}", f"--requestheader-client-ca-file={tls.ca}")
    assert "contain overlapping certificates" in errors(*both)[0]
    assert errors(*both, "--requestheader-allowed-names=front") == []


def test_flags_that_take_effect_later_are_listed_only_when_they_ask_for_something() -> None:
    def listed(*arguments: str) -> list[str]:
        return [message.split()[0] for message in pending(ServerRunOptions.read(arguments)[0])]

    assert listed() == []
    assert listed("--authorization-mode=AlwaysAllow", "--endpoint-reconciler-type=none") == []
    assert listed("--kubelet-timeout=7s") == ["--kubelet-timeout"]
