from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kapi.api.gvk import GroupResource
from kapi.options.complete import CompletedOptions, OptionsError, complete, default_data_dir
from kapi.options.server_run_options import ServerRunOptions

Finish = Callable[..., CompletedOptions]


@pytest.fixture
def finish(tmp_path: Path) -> Finish:
    """Completes a command line on which the certificate goes into a directory of the test's own."""

    def run(*arguments: str) -> CompletedOptions:
        usual = (f"--cert-dir={tmp_path}/certs", "--advertise-address=192.0.2.10")
        return complete(ServerRunOptions.read([*usual, *arguments])[0])

    return run


def test_the_advertised_address_is_the_one_given(finish: Finish) -> None:
    assert finish().advertise_address == "192.0.2.10"


def test_else_it_is_the_bind_address(finish: Finish) -> None:
    assert finish("--advertise-address=0.0.0.0", "--bind-address=192.0.2.7").advertise_address == "192.0.2.7"


def test_a_server_on_the_loopback_interface_advertises_a_real_address(finish: Finish) -> None:
    found = finish("--advertise-address=0.0.0.0", "--bind-address=127.0.0.1").advertise_address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((found, 0))  # it is one of this machine's


def test_the_external_host_is_the_address_unless_given(finish: Finish) -> None:
    assert finish().external_host == "192.0.2.10"
    assert finish("--external-hostname=api.example.com").external_host == "api.example.com"


def test_the_service_range_has_a_default_and_a_warning(finish: Finish) -> None:
    completed = finish()
    assert str(completed.service_ips.primary) == "10.0.0.0/24"
    assert completed.service_ips.secondary is None
    assert completed.service_ips.api_server == "10.0.0.1"
    assert any("10.0.0.0/24" in warning for warning in completed.warnings)


def test_two_service_ranges_are_primary_and_secondary(finish: Finish) -> None:
    ips = finish("--service-cluster-ip-range=10.96.0.0/12,fd00:10:96::/112").service_ips
    assert (str(ips.primary), str(ips.secondary), ips.api_server) == ("10.96.0.0/12", "fd00:10:96::/112", "10.96.0.1")


def test_the_self_signed_certificate_has_the_names_and_addresses_of_the_service(finish: Finish, tmp_path: Path) -> None:
    completed = finish("--service-cluster-ip-range=10.3.0.0/24", "--bind-address=127.0.0.1")
    assert (completed.cert_file, completed.key_file) == (
        tmp_path / "certs" / "apiserver.crt",
        tmp_path / "certs" / "apiserver.key",
    )
    leaf = x509.load_pem_x509_certificates(completed.cert_file.read_bytes())[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    dns = set(names.get_values_for_type(x509.DNSName))
    ips = set(map(str, names.get_values_for_type(x509.IPAddress)))
    assert {"kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost"} <= dns
    assert {"10.3.0.1", "192.0.2.10", "127.0.0.1"} <= ips


def test_a_given_certificate_is_used_and_none_is_made(
    finish: Finish, tmp_path: Path, new_etcd_tls: Callable[[], Any]
) -> None:
    tls = new_etcd_tls()
    completed = finish(f"--tls-cert-file={tls.server_cert}", f"--tls-private-key-file={tls.server_key}")
    assert (completed.cert_file, completed.key_file) == (tls.server_cert, tls.server_key)
    assert not (tmp_path / "certs").exists()


def test_a_certificate_directory_that_cannot_be_made_is_a_clear_error(finish: Finish, tmp_path: Path) -> None:
    (tmp_path / "certs").write_text("in the way")
    with pytest.raises(OptionsError, match="error creating self-signed certificates: "):
        finish()


def test_without_keys_service_account_tokens_use_the_serving_key_with_a_warning(finish: Finish) -> None:
    completed = finish()
    assert completed.service_accounts.key_files == (completed.key_file,)
    assert any("serving key" in warning for warning in completed.warnings)


def test_with_a_signing_key_the_serving_key_is_left_alone(finish: Finish) -> None:
    completed = finish("--service-account-signing-key-file=s.key", "--service-account-issuer=https://a")
    assert completed.service_accounts.key_files == ()
    assert completed.service_accounts.signing_key_file == Path("s.key")
    assert completed.service_accounts.audiences == ("https://a",)
    assert not any("serving key" in warning for warning in completed.warnings)


def test_short_tokens_that_are_extended_are_worth_a_warning(finish: Finish) -> None:
    def warnings(*arguments: str) -> int:
        completed = finish("--service-account-max-token-expiration=1h", *arguments)
        return sum("extend-token-expiration" in warning for warning in completed.warnings)

    assert warnings() == 2
    assert warnings("--service-account-extend-token-expiration=false") == 0


def test_anonymous_requests_are_off_where_everything_is_allowed(finish: Finish) -> None:
    assert finish().authorization_modes == ("AlwaysAllow",)
    assert not finish().anonymous_auth
    assert any("AnonymousAuth" in warning for warning in finish().warnings)
    assert finish("--authorization-mode=RBAC").anonymous_auth
    assert not finish("--authorization-mode=RBAC", "--anonymous-auth=false").anonymous_auth


def test_cache_sizes_follow_the_memory_and_single_ones_are_overridden(finish: Finish) -> None:
    sizes = finish("--target-ram-mb=120000", "--watch-cache-sizes=nodes#7,deployments.apps#8").watch_cache_sizes
    assert sizes[GroupResource("", "pods")] == 100_000
    assert sizes[GroupResource("", "endpoints")] == 20_000
    assert sizes[GroupResource("", "replicationcontrollers")] == 10_000
    assert sizes[GroupResource("coordination.k8s.io", "leases")] == 10_000
    assert sizes[GroupResource("", "nodes")] == 7
    assert sizes[GroupResource("apps", "deployments")] == 8
    assert sizes[GroupResource("", "events")] == 0


def test_little_memory_has_least_sizes(finish: Finish) -> None:
    sizes = finish("--target-ram-mb=60").watch_cache_sizes
    assert sizes[GroupResource("", "pods")] == 1000
    assert sizes[GroupResource("", "replicationcontrollers")] == 100


def test_without_a_memory_target_only_events_are_uncached(finish: Finish) -> None:
    assert finish().watch_cache_sizes == {GroupResource("", "events"): 0, GroupResource("events.k8s.io", "events"): 0}
    assert finish("--watch-cache=false", "--target-ram-mb=6000").watch_cache_sizes == {}


@pytest.mark.parametrize("key", ["v1", "api/v1", "v1/pods", "api/v1/pods", "/v1"])
def test_every_way_to_write_the_core_group_is_one_key(finish: Finish, key: str) -> None:
    assert finish(f"--runtime-config={key}=false").runtime_config == {"/v1": False}


def test_the_legacy_key_is_dropped_and_others_stay(finish: Finish) -> None:
    config = finish("--runtime-config=api/legacy=true,apps/v1,api/beta=false").runtime_config
    assert config == {"apps/v1": True, "api/beta": False}


@pytest.mark.parametrize(
    ("arguments", "backend"),
    [
        ((), "sqlite"),
        (("--etcd-servers=http://a",), "etcd3"),
        (("--storage-backend=memory",), "memory"),
        (("--storage-backend=sqlite",), "sqlite"),
    ],
)
def test_the_store_is_etcd_where_there_is_one(finish: Finish, arguments: tuple[str, ...], backend: str) -> None:
    assert finish(*arguments).storage_backend == backend


def test_the_data_directory_is_the_users_unless_given(finish: Finish, tmp_path: Path) -> None:
    assert finish(f"--data-dir={tmp_path}/d").data_dir == tmp_path / "d"
    assert default_data_dir({"XDG_DATA_HOME": "/data"}) == Path("/data/kapi")
    assert default_data_dir({}).parts[-1] == "kapi"


def test_the_insecure_port_is_off_unless_asked_for(finish: Finish) -> None:
    assert finish().insecure_address is None
    assert finish("--insecure-port=8080").insecure_address == ("127.0.0.1", 8080)


def test_overrides_of_etcd_servers_are_by_resource(finish: Finish) -> None:
    completed = finish("--etcd-servers=http://a", "--etcd-servers-overrides=/events#http://b;http://c")
    assert completed.etcd_servers_overrides == {GroupResource("", "events"): ("http://b", "http://c")}


def test_capabilities_and_gates_are_part_of_the_result(finish: Finish) -> None:
    completed = finish("--allow-privileged", "--max-connection-bytes-per-sec=9", "--feature-gates=EnvFiles=false")
    assert completed.capabilities.allow_privileged
    assert completed.capabilities.per_connection_bytes_per_second == 9
    assert not completed.feature_gates["EnvFiles"]
    assert completed.feature_gates["PodLevelResources"]


def test_flags_that_take_effect_later_are_told(finish: Finish) -> None:
    assert finish().pending == ()
    assert "no kubelet is connected to" in finish("--kubelet-timeout=7s").pending[0]
