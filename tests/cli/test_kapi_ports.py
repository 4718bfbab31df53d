"""Ports and addresses: what `kapi up` chooses, and what its certificate is for."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from cryptography import x509

from kapi.cli import credentials, ports
from kapi.cli.problem import Problem
from kapi.cli.up import client_url, flag_value


def test_a_taken_port_is_named_when_it_was_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Problem, match=f"port {port} on 127.0.0.1 is taken") as problem:
            ports.choose("127.0.0.1", port)
    assert "--port" in problem.value.next_step


def test_a_taken_default_is_passed_over() -> None:
    first = ports.choose("127.0.0.1", None)
    with socket.create_server(("127.0.0.1", first)):
        assert ports.choose("127.0.0.1", None) > first


def test_a_port_with_lingering_connections_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()  # the side that closes first lingers
        client.close()
    assert ports.choose("127.0.0.1", port) == port


def test_zero_is_any_free_port() -> None:
    assert ports.choose("127.0.0.1", 0) > 1023


def test_the_serving_certificate_is_for_everything_the_server_is_called(tmp_path: Path) -> None:
    identity = credentials.prepare(tmp_path, service_ip="10.96.0.1", addresses=["127.0.0.1", "192.0.2.5"])
    certificate = x509.load_pem_x509_certificate(identity.serving[0].read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    expected = {"kubernetes.default.svc", "kubernetes.default", "kubernetes", "localhost", socket.gethostname()}
    assert set(names.get_values_for_type(x509.DNSName)) == expected
    addresses = {str(ip) for ip in names.get_values_for_type(x509.IPAddress)}
    assert addresses == {"127.0.0.1", "::1", "10.96.0.1", "192.0.2.5"}


def test_the_administrator_is_in_the_group_that_may_do_everything(tmp_path: Path) -> None:
    identity = credentials.prepare(tmp_path, service_ip="10.0.0.1", addresses=["0.0.0.0"])
    certificate = x509.load_pem_x509_certificate(identity.admin[0].read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=kapi-admin,O=system:masters"


@pytest.mark.parametrize(
    ("ranges", "address"),
    [("10.0.0.0/24", "10.0.0.1"), ("10.96.0.0/16,fd00::/112", "10.96.0.1"), ("fd00:10::/112", "fd00:10::1")],
)
def test_the_service_address_is_the_first_of_the_first_range(ranges: str, address: str) -> None:
    assert credentials.service_address(ranges) == address


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("127.0.0.1", "https://127.0.0.1:1"),
        ("0.0.0.0", "https://127.0.0.1:1"),
        ("::", "https://[::1]:1"),
        ("fd00::1", "https://[fd00::1]:1"),
    ],
)
def test_clients_are_sent_to_an_address_they_can_reach(address: str, url: str) -> None:
    assert client_url(address, 1) == url


def test_the_last_of_a_repeated_flag_counts_in_either_form() -> None:
    assert flag_value(["--a=1", "--a", "2", "--ab=3"], "a") == "2"
    assert flag_value(["--a"], "a") is None
