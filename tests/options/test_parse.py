from __future__ import annotations

import pytest

from kapi.options.kinds import NamedCertKey, PortRange
from kapi.options.parse import FlagError
from kapi.options.server_run_options import ServerRunOptions


def read(*arguments: str) -> ServerRunOptions:
    return ServerRunOptions.read(arguments)[0]


def error(*arguments: str) -> str:
    with pytest.raises(FlagError) as caught:
        read(*arguments)
    return str(caught.value)


def test_a_value_follows_an_equals_sign_or_stands_alone() -> None:
    assert read("--secure-port=7").secure_serving.secure_port == 7
    assert read("--secure-port", "7").secure_serving.secure_port == 7


def test_a_value_may_look_like_a_flag() -> None:
    assert read("--etcd-prefix", "--x").etcd.etcd_prefix == "--x"
    assert read("--etcd-prefix=a=b").etcd.etcd_prefix == "a=b"


def test_a_bool_takes_its_value_only_after_an_equals_sign() -> None:
    options, parsed = ServerRunOptions.read(["--watch-cache", "false"])
    assert options.etcd.watch_cache
    assert parsed.arguments == ["false"]
    assert not read("--watch-cache=false").etcd.watch_cache
    assert not read("--watch-cache=F").etcd.watch_cache


@pytest.mark.parametrize("arguments", [("-v", "4"), ("-v=4",), ("-v4",), ("--v=4",), ("--v", "4")])
def test_verbosity_may_be_written_in_every_way(arguments: tuple[str, ...]) -> None:
    assert read(*arguments).logs.v == 4


def test_an_underscore_in_a_name_is_a_dash() -> None:
    assert read("--secure_port=7").secure_serving.secure_port == 7


def test_two_dashes_end_the_flags() -> None:
    options, parsed = ServerRunOptions.read(["a", "--", "--secure-port=7"])
    assert options.secure_serving.secure_port == 6443
    assert parsed.arguments == ["a", "--secure-port=7"]


def test_the_last_of_a_repeated_flag_wins() -> None:
    assert read("--secure-port=7", "--secure-port=8").secure_serving.secure_port == 8


def test_a_repeated_list_adds_to_itself_but_not_to_its_default() -> None:
    types = ("--kubelet-preferred-address-types=InternalIP", "--kubelet-preferred-address-types=Hostname,ExternalIP")
    assert read(*types).misc.kubelet_preferred_address_types == ("InternalIP", "Hostname", "ExternalIP")


def test_list_items_may_be_quoted_to_hold_a_comma() -> None:
    assert read('--etcd-servers="a,b",c').etcd.etcd_servers == ("a,b", "c")


def test_a_string_array_does_not_split_at_commas() -> None:
    issuers = read("--service-account-issuer=a,b", "--service-account-issuer=c").authentication.service_account_issuer
    assert issuers == ("a,b", "c")


def test_maps_are_joined_and_a_bare_key_is_empty() -> None:
    config = read("--runtime-config=a/v1=true,b/v1", "--runtime-config=a/v1=false").api_enablement.runtime_config
    assert config == {"a/v1": "false", "b/v1": ""}


def test_feature_gates_may_name_their_component() -> None:
    gates = read("--feature-gates=WatchList=true,kube:KMSv1=false", "--feature-gates=kube:AllAlpha=false")
    assert gates.generic.feature_gates == {"": ("WatchList=true",), "kube": ("KMSv1=false", "AllAlpha=false")}


def test_certificates_for_names_are_collected() -> None:
    pairs = read("--tls-sni-cert-key=a.crt,a.key", "--tls-sni-cert-key=b.crt,b.key:*.b,b").secure_serving
    assert pairs.tls_sni_cert_key == (
        NamedCertKey("a.crt", "a.key"),
        NamedCertKey("b.crt", "b.key", ("*.b", "b")),
    )


@pytest.mark.parametrize(
    ("text", "ports"),
    [("1-9", PortRange(1, 9)), ("30000+10", PortRange(30000, 30010)), ("80", PortRange(80, 80))],
)
def test_port_ranges_have_three_forms(text: str, ports: PortRange) -> None:
    assert read(f"--service-node-port-range={text}").misc.service_node_port_range == ports


@pytest.mark.parametrize(("text", "value"), [("0x10", 16), ("010", 8), ("-3", -3), ("+3", 3), ("0b11", 3), ("0", 0)])
def test_integers_are_gos(text: str, value: int) -> None:
    assert read(f"--min-request-timeout={text}").generic.min_request_timeout == value


@pytest.mark.parametrize(
    ("text", "seconds"), [("1m0s", 60), ("1h30m", 5400), ("250ms", 0.25), ("1.5s", 1.5), ("-1s", -1), ("0", 0)]
)
def test_durations_are_gos(text: str, seconds: float) -> None:
    assert read(f"--request-timeout={text}").generic.request_timeout == seconds


def test_addresses_are_made_canonical() -> None:
    assert read("--bind-address=0:0::1").secure_serving.bind_address == "::1"


def test_the_old_name_of_a_flag_sets_it_with_a_notice() -> None:
    options, parsed = ServerRunOptions.read(["--port=8080", "--address=127.0.0.2"])
    assert options.insecure_serving.insecure_port == 8080
    assert options.insecure_serving.insecure_bind_address == "127.0.0.2"
    assert parsed.notices == [
        "Flag --port has been deprecated, use --insecure-port",
        "Flag --address has been deprecated, use --insecure-bind-address",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--foo",), "unknown flag: --foo"),
        (("--secure",), "unknown flag: --secure"),
        (("--foo=1",), "unknown flag: --foo"),
        (("---x",), "bad flag syntax: ---x"),
        (("--=x",), "bad flag syntax: --=x"),
        (("-x",), "unknown shorthand flag: 'x' in -x"),
        (("-hx",), "unknown shorthand flag: 'x' in -x"),
        (("--secure-port",), "flag needs an argument: --secure-port"),
        (("-v",), "flag needs an argument: 'v' in -v"),
        (
            ("--secure-port=x",),
            'invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax',
        ),
        (("--v=x",), 'invalid argument "x" for "-v, --v" flag: strconv.ParseInt: parsing "x": invalid syntax'),
        (
            ("--watch-cache=maybe",),
            'invalid argument "maybe" for "--watch-cache" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ("--request-timeout=5",),
            'invalid argument "5" for "--request-timeout" flag: time: missing unit in duration "5"',
        ),
        (("--bind-address=a",), 'invalid argument "a" for "--bind-address" flag: failed to parse IP: "a"'),
        (
            ("--goaway-chance=",),
            'invalid argument "" for "--goaway-chance" flag: strconv.ParseFloat: parsing "": invalid syntax',
        ),
        (
            ("--tls-sni-cert-key=a.crt",),
            'invalid argument "a.crt" for "--tls-sni-cert-key" flag: '
            "expected comma separated certificate and key file paths",
        ),
        (
            ("--tls-sni-cert-key=a,b:",),
            'invalid argument "a,b:" for "--tls-sni-cert-key" flag: empty names list is not allowed',
        ),
        (
            ("--service-node-port-range=9-1",),
            'invalid argument "9-1" for "--service-node-port-range" flag: end port cannot be less than start port: 9-1',
        ),
        (
            ("--service-node-port-range=1-70000",),
            'invalid argument "1-70000" for "--service-node-port-range" flag: '
            "the port range cannot be greater than 65535: 1-70000",
        ),
        (
            ("--secure-port=99999999999999999999",),
            'invalid argument "99999999999999999999" for "--secure-port" flag: '
            'strconv.ParseInt: parsing "99999999999999999999": value out of range',
        ),
    ],
)
def test_what_cannot_be_read_is_told_as_the_go_binary_tells_it(arguments: tuple[str, ...], message: str) -> None:
    assert error(*arguments) == message
