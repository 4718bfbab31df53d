"""The authentication configuration file: what is wrong with one, claims by expressions, changes while serving."""

from __future__ import annotations

import json

import pytest

from kapi.authn import configuration
from kapi.codec.configuration import ConfigurationError
from tests.authn.issuer import Issuer

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ISSUER = {"url": "https://issuer.example", "audiences": ["us"]}
USERNAME = {"claim": "sub", "prefix": ""}
EMAIL = (
    "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression "
    "or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"
)


def document(*jwt, **more):
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}
    return json.dumps({**kind, "jwt": list(jwt), **more}).encode()


def jwt(issuer=None, username=USERNAME, rules=(), users=(), **mappings):
    return {
        "issuer": issuer or ISSUER,
        "claimMappings": {"username": username, **mappings},
        "claimValidationRules": list(rules),
        "userValidationRules": list(users),
    }


def problem(data):
    with pytest.raises(ConfigurationError) as caught:
        configuration.read(data, ["https://kubernetes.default.svc"])
    return str(caught.value).removeprefix("invalid authentication configuration: ")


def issuer(**changed):
    return jwt({**ISSUER, **changed})


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (issuer(url=""), "jwt[0].issuer.url: Required value"),
        (issuer(url="http://a"), 'jwt[0].issuer.url: Invalid value: "http://a": URL scheme must be https'),
        (
            issuer(url="https://u:p@a"),
            'jwt[0].issuer.url: Invalid value: "https://u:p@a": URL must not contain a username or password',
        ),
        (issuer(url="https://a?b"), 'jwt[0].issuer.url: Invalid value: "https://a?b": URL must not contain a query'),
        (
            issuer(url="https://a#b"),
            'jwt[0].issuer.url: Invalid value: "https://a#b": URL must not contain a fragment',
        ),
        (
            issuer(url="https://kubernetes.default.svc"),
            'jwt[0].issuer.url: Invalid value: "https://kubernetes.default.svc": URL must not overlap with disallowed '
            "issuers: [https://kubernetes.default.svc]",
        ),
        (
            issuer(discoveryURL="https://issuer.example/"),
            'jwt[0].issuer.discoveryURL: Invalid value: "https://issuer.example/": discoveryURL must be different from '
            "URL",
        ),
        (
            issuer(audiences=[]),
            "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
        ),
        (issuer(audiences=[""]), "jwt[0].issuer.audiences[0]: Required value"),
        (
            issuer(audiences=["a", "b"]),
            'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple '
            "audiences",
        ),
        (
            issuer(audienceMatchPolicy="MatchAll"),
            'jwt[0].issuer.audienceMatchPolicy: Invalid value: "MatchAll": audienceMatchPolicy must be empty or '
            "MatchAny for single audience",
        ),
        (
            issuer(audiences=["a", "a"], audienceMatchPolicy="MatchAny"),
            'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
        ),
        (
            issuer(certificateAuthority="nonsense"),
            'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or '
            "ECDSA certificates",
        ),
        (
            issuer(egressSelectorType="moon"),
            'jwt[0].issuer.egressSelectorType: Invalid value: "moon": egress selector must be either controlplane or '
            "cluster",
        ),
        (issuer(egressSelectorType="cluster"), 'oidc: egress lookup required with egress selector type "cluster"'),
        (jwt(rules=[{}]), "jwt[0].claimValidationRules[0]: Required value: claim or expression is required"),
        (
            jwt(rules=[{"claim": "a", "expression": "true"}]),
            'jwt[0].claimValidationRules[0]: Invalid value: "a": claim and expression can\'t both be set',
        ),
        (
            jwt(rules=[{"claim": "a", "message": "m"}]),
            'jwt[0].claimValidationRules[0].message: Invalid value: "m": may not be specified when claim is set',
        ),
        (
            jwt(rules=[{"claim": "a"}, {"claim": "a"}]),
            'jwt[0].claimValidationRules[1].claim: Duplicate value: "a"',
        ),
        (
            jwt(rules=[{"expression": "true", "requiredValue": "v"}]),
            'jwt[0].claimValidationRules[0].requiredValue: Invalid value: "v": may not be specified when expression is '
            "set",
        ),
        (
            jwt(rules=[{"expression": "claims.a"}]),
            'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.a": must evaluate to bool',
        ),
        (jwt(username={}), "jwt[0].claimMappings.username: Required value: claim or expression is required"),
        (
            jwt(username={"claim": "a", "expression": "claims.b"}),
            'jwt[0].claimMappings.username: Invalid value: "": claim and expression can\'t both be set',
        ),
        (
            jwt(username={"claim": "a"}),
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set "
            "to an empty string to disable prefixing",
        ),
        (
            jwt(groups={"expression": "claims.b", "prefix": "p"}),
            'jwt[0].claimMappings.groups.prefix: Invalid value: "p": may not be specified when expression is set',
        ),
        (
            jwt(uid={"claim": "a", "expression": "b"}),
            'jwt[0].claimMappings.uid: Invalid value: "": claim and expression can\'t both be set',
        ),
        (
            jwt(extra=[{"key": "a", "valueExpression": "'b'"}]),
            'jwt[0].claimMappings.extra[0].key: Invalid value: "a": must be a domain-prefixed path (such as '
            '"acme.io/foo")',
        ),
        (
            jwt(extra=[{"key": "example.org/A", "valueExpression": "'b'"}]),
            'jwt[0].claimMappings.extra[0].key: Invalid value: "example.org/A": must be lowercase',
        ),
        (
            jwt(extra=[{"key": "my.k8s.io/a", "valueExpression": "'b'"}]),
            'jwt[0].claimMappings.extra[0].key: Invalid value: "my.k8s.io/a": k8s.io, kubernetes.io and their '
            "subdomains are reserved for Kubernetes use",
        ),
        (
            jwt(extra=[{"key": "example.org/a"}]),
            "jwt[0].claimMappings.extra[0].valueExpression: Required value",
        ),
        (jwt(users=[{}]), "jwt[0].userValidationRules[0].expression: Required value"),
        (
            jwt(username={"expression": "claims.email"}),
            f'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": {EMAIL}',
        ),
        (
            jwt(username={"expression": "claims.?email.orValue('x')"}),
            f"jwt[0].claimMappings.username.expression: Invalid value: \"claims.?email.orValue('x')\": {EMAIL}",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(item, said):
    assert problem(document(item)) == said


@pytest.mark.parametrize(
    "item",
    [
        jwt(
            username={"expression": "claims.email"},
            rules=[{"expression": "claims.?email_verified.orValue(true) == true"}],
        ),
        jwt(username={"expression": "claims.email_verified ? claims.email : 'x'"}),
        jwt(
            username={"expression": "claims.email"},
            extra=[{"key": "example.org/v", "valueExpression": "string(claims.email_verified)"}],
        ),
    ],
)
def test_an_address_may_be_the_name_if_somebody_looks_whether_it_is_theirs(item):
    assert configuration.read(document(item)).jwt[0].username.expression


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty config data"),
        (document(jwt(), jwt()), 'jwt[1].issuer.url: Duplicate value: "https://issuer.example"'),
        (document(*[jwt()] * 65), "jwt: Too many: 65: must have at most 64 items"),
        (
            document(anonymous={"enabled": False, "conditions": [{"path": "/a"}]}),
            'anonymous.conditions: Invalid value: [{"Path":"/a"}]: enabled should be set to true when conditions are '
            "defined",
        ),
        (document({"issuers": {}}), 'strict decoding error: unknown field "jwt[0].issuers"'),
        (
            document({"issuer": {"url": 3}}),
            "json: cannot unmarshal number into Go struct field Issuer.jwt.issuer.url of type string",
        ),
    ],
)
def test_what_is_wrong_with_the_whole_is_told(data, said):
    assert problem(data) == said


def test_an_expression_that_does_not_compile_is_told_with_the_compilers_words():
    said = problem(document(jwt(users=[{"expression": "user.name == 'a'"}])))
    assert said.startswith(
        "jwt[0].userValidationRules[0].expression: Invalid value: \"user.name == 'a'\": compilation failed: "
    )


# Serving


@pytest.fixture
def made(tmp_path):
    """Issuers: `made("name")`."""
    issuers = []

    def make(name):
        issuers.append(Issuer(tmp_path / name))
        return issuers[-1]

    yield make
    for item in issuers:
        item.close()


def trusting(found, **changed):
    """The issuer part of a configuration, with its authority."""
    return {"url": found.url, "audiences": ["us"], "certificateAuthority": found.server.ca_pem, **changed}


def who(server, token):
    with server.client("", token=token) as client:
        status, body = client.call("POST", SELF, {})
    return body["status"]["userInfo"] if status == 201 else status


def why(server, token):
    with server.client() as admin:
        status = admin.create(REVIEWS, {"spec": {"token": token}})["status"]
    return status["error"].removeprefix("[invalid bearer token, ").removesuffix("]")


def test_claims_become_users_by_expressions(new_server, made, tmp_path):
    found = made("issuer")
    config = jwt(
        trusting(found),
        {"expression": "'x:' + claims.sub"},
        rules=[
            {"expression": "claims.exp - claims.iat <= 7200", "message": "too long"},
            {"expression": "claims.?hd.orValue('') == 'example.org'", "message": "of another domain"},
            {"claim": "tenant", "requiredValue": "t"},
        ],
        users=[{"expression": "!user.username.startsWith('x:system:')", "message": "not such a name"}],
        groups={"expression": "claims.roles.split(',') + (claims.?admin.orValue(false) ? ['admins'] : [])"},
        uid={"expression": "claims.id"},
        extra=[
            {"key": "example.org/nested", "valueExpression": "claims.kubernetes__dot__io.a__dash__b"},
            {"key": "example.org/none", "valueExpression": "claims.?missing.orValue('')"},
        ],
    )
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(config))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    good = {
        "roles": "dev,,ops",
        "id": "7",
        "hd": "example.org",
        "tenant": "t",
        "kubernetes.io": {"a-b": ["c", ""]},
    }
    assert who(server, found.token(**good)) == {
        "username": "x:alice",
        "uid": "7",
        "groups": ["dev", "ops", "system:authenticated"],
        "extra": {"example.org/nested": ["c"]},
    }
    assert who(server, found.token(**good, admin=True))["groups"][2] == "admins"
    wrong = "oidc: error evaluating"
    for changed, said in (
        (
            {"exp": 9_000_000_000},
            f"{wrong} claim validation expression: validation expression 'claims.exp - claims.iat",
        ),
        ({"exp": 9_000_000_000}, "<= 7200' failed: too long"),
        ({"hd": "evil.org"}, "failed: of another domain"),
        ({"tenant": "u"}, "oidc: required claim tenant value does not match. Got = u, want = t"),
        ({"sub": "system:admin"}, f"{wrong} user info validation rule: validation expression '!user.username.starts"),
        ({"sub": "system:admin"}, "failed: not such a name"),
        ({"sub": 3}, f"{wrong} username claim expression: expression ''x:' + claims.sub' resulted in error: no such"),
        ({"id": 3}, f"{wrong} uid claim expression: uid claim expression must return a string"),
        ({"roles": None}, f"{wrong} group claim expression: expression '"),
        ({"kubernetes.io": {"a-b": {}}}, f"{wrong} extra claim expression: claims.kubernetes__dot__io.a__dash__b: "),
        ({"kubernetes.io": {"a-b": {}}}, "a__dash__b: expression must return a string or a list of strings"),
    ):
        token = found.token(**{**good, **changed})
        assert who(server, token) == 401
        assert said in why(server, token)


def test_a_claim_without_a_name_is_nobodys_group(new_server, made, tmp_path):
    found = made("issuer")
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(jwt(trusting(found))))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    assert who(server, found.token(**{"": ["system:masters"]})) == {
        "username": "alice",
        "groups": ["system:authenticated"],
    }


def test_each_issuer_vouches_for_its_own_tokens_only(new_server, made, tmp_path):
    one, two = made("one"), made("two")
    both = trusting(two, audiences=["us", "them"], audienceMatchPolicy="MatchAny")
    path = tmp_path / "authentication.yaml"
    path.write_bytes(
        document(jwt(trusting(one), {"claim": "sub", "prefix": "1:"}), jwt(both, {"claim": "sub", "prefix": "2:"}))
    )
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    assert who(server, one.token())["username"] == "1:alice"
    assert who(server, two.token(aud=["them"]))["username"] == "2:alice"
    assert 'expected audience in ["them" "us"] got ["x"]' in why(server, two.token(aud="x"))
    assert "failed to verify signature" in why(server, two.token(key=one.key))
    assert who(server, two.token(header={"alg": "PS256"}))["username"] == "2:alice", "a file accepts all algorithms"


def test_new_issuers_replace_the_old_once_they_answer(new_server, made, tmp_path):
    one, two = made("one"), made("two")
    two.status = 503
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(jwt(trusting(one))))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    path.write_bytes(document(jwt(trusting(two))))
    while not two.server.asked:
        assert who(server, one.token())["username"] == "alice"
    two.status = 200
    server.logged("authentication_config_reloaded")
    assert who(server, two.token())["username"] == "alice"


def test_discovery_may_happen_elsewhere(new_server, made, tmp_path):
    found = made("issuer")
    found.documents["/elsewhere"] = {"issuer": "https://issuer.example", "jwks_uri": f"{found.url}/keys"}
    path = tmp_path / "authentication.yaml"
    path.write_bytes(
        document(jwt(trusting(found, url="https://issuer.example", discoveryURL=f"{found.url}/elsewhere")))
    )
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    assert who(server, found.token(iss="https://issuer.example"))["username"] == "alice"


def test_an_issuer_of_an_unknown_authority_is_not_trusted(new_server, made, tmp_path):
    found = made("issuer")
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(jwt(trusting(found, certificateAuthority=made("other").server.ca_pem))))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    assert why(server, found.token()) == "oidc: authenticator not initialized"
    assert "certificate signed by unknown authority" in server.logged("oidc_provider_not_found")


def test_anonymous_requests_may_be_let_in_on_some_paths_alone(new_server, tmp_path):
    path = tmp_path / "authentication.yaml"
    paths = [{"path": "/livez"}, {"path": "/readyz"}]
    path.write_bytes(document(anonymous={"enabled": True, "conditions": paths}))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    with server.client("") as nobody:
        assert [nobody.text(path)[0] for path in ("/livez", "/readyz", "/healthz", "/livez/ping", "/api")] == [
            200,
            200,
            401,
            401,
            401,
        ]


def test_the_file_may_turn_anonymous_requests_off(new_server, tmp_path):
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(anonymous={"enabled": False}))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    with server.client("") as nobody:
        assert nobody.text("/livez")[0] == 401


@pytest.mark.parametrize(
    ("content", "flags", "said"),
    [
        (
            document(anonymous={"enabled": True}),
            ["--anonymous-auth=true"],
            "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in "
            "authentication configuration file",
        ),
        (document(), ["--oidc-client-id=a"], "authentication-config file and oidc-* flags are mutually exclusive"),
        (b"", [], "failed to load authentication configuration from file "),
        (
            document(jwt(username={})),
            [],
            "invalid authentication configuration: jwt[0].claimMappings.username: Required",
        ),
    ],
)
def test_a_file_that_does_not_fit_keeps_it_from_starting(new_server, tmp_path, content, flags, said):
    path = tmp_path / "authentication.yaml"
    path.write_bytes(content)
    server = new_server(f"--authentication-config={path}", *flags).launch()
    assert server.exit_status() == 1
    assert f"Error: {said}" in server.said


def test_a_good_change_takes_effect_and_a_bad_one_does_not(new_server, made, tmp_path):
    one, two = made("one"), made("two")
    path = tmp_path / "authentication.yaml"
    path.write_bytes(document(jwt(trusting(one))))
    server = new_server(f"--authentication-config={path}", "--authorization-mode=RBAC").start()
    assert who(server, two.token()) == 401
    path.write_bytes(document(jwt(trusting(one)), jwt(trusting(two))))
    server.logged("authentication_config_reloaded")
    assert who(server, two.token())["username"] == "alice"
    for count, bad in enumerate((b"{", document(jwt(username={})), document(anonymous={"enabled": True})), 1):
        path.write_bytes(bad)
        server.logged("authentication_config_not_reloaded", count)
        assert who(server, two.token(sub=f"still-{count}"))["username"] == f"still-{count}"
    path.write_bytes(document(jwt(trusting(two))))
    server.logged("authentication_config_reloaded", 2)
    assert who(server, one.token(sub="gone")) == 401
    assert who(server, two.token(sub="still"))["username"] == "still"
    with server.client() as admin:
        _, text = admin.text("/metrics")
    prefix = "apiserver_authentication_config_controller_automatic_reloads_total"
    totals = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(prefix)]
    assert totals == ["3", "2"]
