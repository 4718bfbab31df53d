"""Kubernetes' own libraries."""

from collections.abc import Callable
from typing import Any

import pytest

from kapi.cel.environment import Environment
from kapi.cel.kubernetes import libraries
from kapi.cel.library import bindings
from kapi.cel.library.authorizer import Access, Decision, authorizer, resource_authorizer
from kapi.cel.policies import policy_environment
from kapi.cel.values import EvaluationError

RESULTS: list[tuple[str, Any]] = [
    ("url('https://user@example.com:8080/a%20b?q=1&q=2#f').getHost()", "example.com:8080"),
    ("url('https://example.com:8080/').getHostname()", "example.com"),
    ("url('https://[::1]:80/').getHostname()", "::1"),
    ("url('https://[::1]:80/').getPort()", "80"),
    ("url('https://example.com/a b').getEscapedPath()", "/a%20b"),
    ("url('https://example.com/?q=1&q=2&e').getQuery()['q']", ["1", "2"]),
    ("url('/path').getScheme()", ""),
    ("isURL('https://example.com')", True),
    ("isURL('../relative')", False),
    ("isURL('http://exa mple.com')", False),
    ("url('https://a/') == url('https://a/')", True),
    ("ip('127.0.0.1').isLoopback()", True),
    ("ip('::1').family()", 6),
    ("ip('169.254.1.1').isLinkLocalUnicast()", True),
    ("ip('224.0.0.1').isLinkLocalMulticast()", True),
    ("ip('ff02::1').isLinkLocalMulticast()", True),
    ("ip('10.0.0.1').isGlobalUnicast()", True),
    ("ip('255.255.255.255').isGlobalUnicast()", False),
    ("ip.isCanonical('2001:DB8::1')", False),
    ("string(ip('2001:DB8::0:1'))", "2001:db8::1"),
    ("isIP('1.2.3')", False),
    ("isIP('::ffff:1.2.3.4')", False),
    ("cidr('192.168.0.0/24').containsIP('192.168.0.7')", True),
    ("cidr('192.168.0.0/24').containsIP(ip('192.168.1.7'))", False),
    ("cidr('192.168.0.0/24').containsCIDR('192.168.0.0/25')", True),
    ("cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))", False),
    ("string(cidr('192.168.0.7/24').masked())", "192.168.0.0/24"),
    ("cidr('192.168.0.7/24').prefixLength()", 24),
    ("cidr('192.168.0.7/24').ip() == ip('192.168.0.7')", True),
    ("isCIDR('10.0.0.0/33')", False),
    ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
    ("quantity('1k').asInteger()", 1000),
    ("quantity('1.5').isInteger()", False),
    ("quantity('500m').asApproximateFloat()", 0.5),
    ("quantity('1').add(quantity('500m')).compareTo(quantity('1500m'))", 0),
    ("quantity('1k').sub(1).asInteger()", 999),
    ("sign(quantity('-1'))", -1),
    ("quantity('1000m') == quantity('1')", True),
    ("isQuantity('10x')", False),
    ("semver('1.2.3-alpha.1').isLessThan(semver('1.2.3'))", True),
    ("semver('1.10.0').isGreaterThan(semver('1.9.0'))", True),
    ("semver('v1.2', true).minor()", 2),
    ("isSemver('v1.2.3')", False),
    ("isSemver('01.2.3')", False),
    ("semver('1.2.3+a').compareTo(semver('1.2.3+b'))", 0),
    ("semver('1.0.0-alpha').compareTo(semver('1.0.0-alpha.1'))", -1),
    ("semver('1.0.0-1').compareTo(semver('1.0.0-alpha'))", -1),
    ("format.dns1123Label().validate('ok').hasValue()", False),
    ("format.dns1123Label().validate('a.b').value()", ["must not contain dots"]),
    ("format.dns1123LabelPrefix().validate('ok-').hasValue()", False),
    ("format.named('uuid').value().validate('nope').value()", ["does not match the UUID format"]),
    ("format.named('nope').hasValue()", False),
    ("format.date().validate('2021-02-30').hasValue()", True),
]


@pytest.mark.parametrize(("expression", "expected"), RESULTS)
def test_a_function_of_kubernetes_gives_what_upstream_gives(
    evaluate: Callable[..., Any], expression: str, expected: Any
) -> None:
    assert evaluate(expression) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("quantity('x')", "quantities must match the regular expression"),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("semver('1.2')", "No Major.Minor.Patch elements found"),
        ("semver('1.2-a', true)", "short version cannot contain PreRelease/Build meta data"),
        ("url('x')", 'URL parse error during conversion from string: parse "x": invalid URI for request'),
        ("ip('1.2.3.4.5')", 'IP Address "1.2.3.4.5" parse error during conversion from string: ParseAddr("1.2.3.4.5")'),
        ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("'a'.find('(')", "Illegal regex: error parsing regexp: missing"),
    ],
)
def test_what_can_not_be_read_is_an_error(evaluate: Callable[..., Any], expression: str, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(expression)
    assert str(caught.value).startswith(message)


def test_the_authorizer_asks_the_caller() -> None:
    asked: list[Access] = []

    def decide(access: Access) -> Decision:
        asked.append(access)
        return Decision(access.verb == "get", "because")

    environment = policy_environment(authorize=True)
    values = {
        "authorizer": authorizer(decide),
        "authorizer.requestResource": resource_authorizer(decide, Access(resource="pods", namespace="ns")),
    }

    def run(expression: str) -> Any:
        return environment.compile(expression).evaluate(values)

    check = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('a').name('b')"
    assert run(f"{check}.labelSelector('x=y').check('get').allowed()") is True
    assert asked[-1] == Access(
        verb="get",
        group="apps",
        resource="deployments",
        subresource="scale",
        namespace="a",
        name="b",
        label_selector="x=y",
    )
    assert run("authorizer.path('/healthz').check('post').reason()") == "because"
    assert run("authorizer.requestResource.check('delete').allowed()") is False
    assert asked[-1] == Access(verb="delete", resource="pods", namespace="ns")
    assert run("authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get').errored()") is False
    assert asked[-1].service_account == ("ns", "sa")
    with pytest.raises(EvaluationError, match="path must not be empty"):
        run("authorizer.path(' ').check('get').allowed()")


def test_bindings_are_there_for_environments_that_ask_for_them() -> None:
    environment = Environment({}, (*libraries(), bindings.library()))
    assert environment.compile("cel.bind(x, 2, cel.bind(y, x + 1, x * y))").evaluate({}) == 6
