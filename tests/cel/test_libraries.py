"""Kubernetes' own libraries."""

from collections.abc import Callable
from typing import Any

import pytest

from kapi.cel.environment import Environment
from kapi.cel.kubernetes import libraries
from kapi.cel.library import bindings
from kapi.cel.library.authorizer import Access, Decision, authorizer, resource_authorizer
from kapi.cel.policies import policy_environment
from kapi.cel.source import InstantiationError
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
    ("url('https://user:pw@example.com/').getHost()", "example.com"),
    ("url('https://example.com/a/b?x=1').getEscapedPath()", "/a/b"),
    ("url('https://example.com').getEscapedPath()", ""),
    ("url('https://example.com/').getPort()", ""),
    ("url('https://example.com/?k=a%20b').getQuery()['k']", ["a b"]),
    ("url('https://example.com/').getQuery().size()", 0),
    ("url('HTTPS://example.com/').getScheme()", "https"),
    ("url('ftp://example.com:21/').getScheme()", "ftp"),
    ("url('https://example.com/a') == url('https://example.com/b')", False),
    ("isURL('/absolute/path')", True),
    ("isURL('')", False),
    ("isURL('https://example.com:port/')", False),
    ("isURL('https://a:b:c/')", False),
    ("isIP('10.0.0.01')", False),
    ("isIP('::')", True),
    ("isIP('1.2.3.4/32')", False),
    ("ip('0.0.0.0').isUnspecified()", True),
    ("ip('::').isUnspecified()", True),
    ("ip('127.1.2.3').isLoopback()", True),
    ("ip('10.0.0.1').isLoopback()", False),
    ("ip('fe80::1').isLinkLocalUnicast()", True),
    ("ip('::1').isGlobalUnicast()", False),
    ("ip('2001:db8::1').isGlobalUnicast()", True),
    ("ip('192.168.0.1').family()", 4),
    ("ip('1.2.3.4') == ip('1.2.3.4')", True),
    ("ip('::1') == ip('0:0:0:0:0:0:0:1')", True),
    ("ip.isCanonical('127.0.0.1')", True),
    ("ip.isCanonical('::ffff')", True),
    ("ip.isCanonical('0:0:0:0:0:0:0:1')", False),
    ("isCIDR('10.0.0.0/8')", True),
    ("isCIDR('10.0.0.0')", False),
    ("isCIDR('::1/128')", True),
    ("isCIDR('::ffff:1.2.3.4/24')", False),
    ("cidr('::/0').prefixLength()", 0),
    ("cidr('10.0.0.0/8').containsIP('11.0.0.0')", False),
    ("cidr('10.0.0.0/8').containsIP('::1')", False),
    ("cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')", True),
    ("cidr('10.0.0.0/8').containsCIDR(cidr('0.0.0.0/0'))", False),
    ("cidr('2001:db8::/32').containsIP(ip('2001:db8::1'))", True),
    ("string(cidr('2001:DB8::1/32').masked())", "2001:db8::/32"),
    ("cidr('10.1.2.3/8') == cidr('10.1.2.3/8')", True),
    ("cidr('10.1.2.3/8') == cidr('10.0.0.0/8')", False),
    ("isQuantity('1.3Gi')", True),
    ("isQuantity('1e3')", True),
    ("isQuantity('1.3Ki2')", False),
    ("isQuantity('')", False),
    ("isQuantity('-5m')", True),
    ("quantity('50Ki').isLessThan(quantity('50M'))", True),
    ("quantity('200M').compareTo(quantity('0.2G'))", 0),
    ("quantity('1').compareTo(quantity('2'))", -1),
    ("quantity('50M').isInteger()", True),
    ("quantity('9999999999999999999999999999999999999G').isInteger()", False),
    ("quantity('-1').sub(quantity('1')).asInteger()", -2),
    ("quantity('1').add(20).asInteger()", 21),
    ("sign(quantity('0'))", 0),
    ("quantity('1M') == quantity('1000k')", True),
    ("semver('1.2.3').major()", 1),
    ("semver('1.2.3').patch()", 3),
    ("semver('1.2.3') == semver('1.2.3')", True),
    ("semver('1.0.0-rc.1').isGreaterThan(semver('1.0.0-beta.11'))", True),
    ("semver('1.0.0-beta.11').isGreaterThan(semver('1.0.0-beta.2'))", True),
    ("isSemver('1.2')", False),
    ("isSemver('1.2', true)", True),
    ("isSemver('v1', true)", True),
    ("isSemver('1.2.3-0a')", True),
    ("isSemver('1.2.3-01')", False),
    ("isSemver('1.2.3+')", False),
    ("string(semver('v01.01', true).major())", "1"),
    ("format.dns1123Subdomain().validate('a.b-c').hasValue()", False),
    ("format.dns1123Subdomain().validate('A').hasValue()", True),
    ("format.dns1035Label().validate('1a').hasValue()", True),
    ("format.qualifiedName().validate('example.com/a').hasValue()", False),
    ("format.qualifiedName().validate('a/b/c').hasValue()", True),
    ("format.labelValue().validate('').hasValue()", False),
    ("format.labelValue().validate('a b').hasValue()", True),
    ("format.uri().validate('https://example.com').hasValue()", False),
    ("format.uri().validate('nope').hasValue()", True),
    ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", False),
    ("format.byte().validate('aGk=').hasValue()", False),
    ("format.byte().validate('?').hasValue()", True),
    ("format.date().validate('2024-02-29').hasValue()", False),
    ("format.datetime().validate('2024-02-29T00:00:00Z').hasValue()", False),
    ("format.datetime().validate('2024-02-30T00:00:00Z').hasValue()", True),
    ("format.named('dns1123Label').hasValue()", True),
    ("'abc123'.find('[a-z]+[0-9]')", "abc1"),
    ("'a.b'.findAll('.', -1)", ["a", ".", "b"]),
    ("'aaa'.findAll('a', 0)", []),
    ("'k=v'.find('=')", "="),
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
        ("'a'.find('(')", "error parsing regexp: missing closing ): `(`"),
        ("'a'.find(string(dyn(['('])[0]))", "Illegal regex: error parsing regexp: missing closing ): `(`"),
    ],
)
def test_what_can_not_be_read_is_an_error(evaluate: Callable[..., Any], expression: str, message: str) -> None:
    with pytest.raises((EvaluationError, InstantiationError)) as caught:
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
