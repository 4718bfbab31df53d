"""The authorization configuration file: what is wrong with one, match conditions, and changes while serving."""

from __future__ import annotations

import json

import pytest

from kapi.authz import configuration
from kapi.codec.configuration import ConfigurationError
from tests.https_server import HTTPSServer

VERSION = "apiserver.config.k8s.io/v1"
RBAC = {"type": "RBAC", "name": "rbac"}


def document(*authorizers, **more):
    content = {"apiVersion": VERSION, "kind": "AuthorizationConfiguration", "authorizers": list(authorizers), **more}
    return json.dumps(content).encode()


def webhook(name="hook", **changed):
    settings = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/etc/hostname"},
        **changed,
    }
    return {"type": "Webhook", "name": name, "webhook": {k: v for k, v in settings.items() if v is not None}}


def problem(data):
    with pytest.raises(ConfigurationError) as caught:
        configuration.read(data)
    return str(caught.value)


def conditions(*expressions):
    return {
        "matchConditions": [{"expression": expression} for expression in expressions],
        "matchConditionSubjectAccessReviewVersion": "v1",
    }


@pytest.mark.parametrize(
    ("authorizers", "said"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"name": "x"}], "authorizers[0].type: Required value"),
        (
            [{"type": "Magic", "name": "magic"}],
            'authorizers[0].type: Unsupported value: "Magic": supported values: "ABAC", "AlwaysAllow", "AlwaysDeny", '
            '"Node", "RBAC", "Webhook"',
        ),
        ([RBAC, RBAC], 'authorizers[1].type: Duplicate value: "RBAC"'),
        ([{"type": "RBAC"}], "authorizers[0].name: Required value"),
        ([webhook("a"), webhook("a")], 'authorizers[1].name: Duplicate value: "a"'),
        ([{"type": "RBAC", "name": "mine"}], "expected name rbac for authorizer RBAC instead of mine"),
        ([{"type": "Webhook", "name": "a"}], "authorizers[0].webhook: Required value: required when type=Webhook"),
        (
            [{**RBAC, "webhook": {}}],
            'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
        ),
        ([webhook(timeout=None)], "authorizers[0].timeout: Required value"),
        ([webhook(timeout="31s")], 'authorizers[0].timeout: Invalid value: "31s": must be > 0s and <= 30s'),
        ([webhook(authorizedTTL="-1m")], 'authorizers[0].authorizedTTL: Invalid value: "-1m0s": must be > 0s'),
        ([webhook(unauthorizedTTL="-1s")], 'authorizers[0].unauthorizedTTL: Invalid value: "-1s": must be > 0s'),
        ([webhook(subjectAccessReviewVersion=None)], "authorizers[0].subjectAccessReviewVersion: Required value"),
        (
            [webhook(subjectAccessReviewVersion="v2")],
            'authorizers[0].subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
        ),
        ([webhook(failurePolicy=None)], "authorizers[0].failurePolicy: Required value"),
        (
            [webhook(failurePolicy="Allow")],
            'authorizers[0].failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"',
        ),
        ([webhook(connectionInfo=None)], "authorizers[0].connectionInfo.type: Required value"),
        (
            [webhook(connectionInfo={"type": "Pigeon"})],
            'authorizers[0].connectionInfo.type: Unsupported value: {"Type":"Pigeon","KubeConfigFile":null}: supported '
            'values: "InClusterConfig", "KubeConfigFile"',
        ),
        (
            [webhook(connectionInfo={"type": "InClusterConfig", "kubeConfigFile": "/a"})],
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/a": can only be set when '
            "type=KubeConfigFile",
        ),
        (
            [webhook(connectionInfo={"type": "KubeConfigFile"})],
            "authorizers[0].connectionInfo.kubeConfigFile: Required value",
        ),
        (
            [webhook(connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "a"})],
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "a": must be an absolute path',
        ),
        (
            [webhook(connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "/no/such"})],
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/no/such": error loading file: stat '
            "/no/such: no such file or directory",
        ),
        (
            [webhook(connectionInfo={"type": "KubeConfigFile", "kubeConfigFile": "/etc"})],
            'authorizers[0].connectionInfo.kubeConfigFile: Invalid value: "/etc": must be a regular file',
        ),
        (
            [webhook(matchConditions=[{"expression": "true"}])],
            "authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are "
            "specified",
        ),
        ([webhook(**conditions(" "))], "authorizers[0].matchConditions[0].expression: Required value"),
        (
            [webhook(**conditions("true", "true"))],
            'authorizers[0].matchConditions[1].expression: Duplicate value: "true"',
        ),
        (
            [webhook(**conditions("1"))],
            'authorizers[0].matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            [webhook(**conditions(*map(str, range(65))))],
            "authorizers[0].matchConditions: Too many: 65: must have at most 64 items",
        ),
        (
            [webhook(timeout=None, failurePolicy=None)],
            "[authorizers[0].timeout: Required value, authorizers[0].failurePolicy: Required value]",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(authorizers, said):
    assert problem(document(*authorizers)) == said


def test_a_condition_that_does_not_compile_is_told_with_the_compilers_words():
    said = problem(document(webhook(**conditions("request.usr == 'a'"))))
    assert said.startswith(
        "authorizers[0].matchConditions[0].expression: Invalid value: \"request.usr == 'a'\": compilation failed: "
    )
    assert "undefined field 'usr'" in said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: [", "error converting YAML to JSON: yaml: "),
        (b"[]", "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
        (b"authorizers: []", "Object 'Kind' is missing in 'authorizers: []'"),
        (b"kind: AuthorizationConfiguration", "Object 'apiVersion' is missing in"),
        (
            f"apiVersion: {VERSION}\nkind: Pod".encode(),
            'no kind "Pod" is registered for version "apiserver.config.k8s.io/v1"',
        ),
        (document(RBAC, extra=1), 'strict decoding error: unknown field "extra"'),
        (document({**RBAC, "a": 1}), 'strict decoding error: unknown field "authorizers[0].a"'),
        (
            document({"type": 3}),
            "json: cannot unmarshal number into Go struct field AuthorizerConfiguration.authorizers.type of type "
            "string",
        ),
        (
            f"apiVersion: {VERSION}\nkind: AuthorizationConfiguration\nauthorizers: []\nauthorizers: []".encode(),
            'strict decoding error: yaml: unmarshal errors:\n  line 4: key "authorizers" already set in map',
        ),
        (document(webhook(timeout="soon")), 'time: invalid duration "soon"'),
    ],
)
def test_what_is_no_configuration_is_refused(data, said):
    assert problem(data).startswith(f"failed to load AuthorizationConfiguration from file: {said}")


def test_an_empty_file_has_no_authorizers():
    assert problem(b"") == "authorizers: Required value: at least one authorization mode must be defined"


def test_the_file_and_the_flags_exclude_each_other(new_server, tmp_path):
    path = tmp_path / "authorization.yaml"
    path.write_bytes(document(RBAC))
    server = new_server(f"--authorization-config={path}", "--authorization-mode=RBAC").launch()
    assert server.exit_status() == 1
    assert "Error: --authorization-config can not be specified when --authorization-mode or " in server.said


def test_a_bad_file_keeps_the_server_from_starting(new_server, tmp_path):
    server = new_server(f"--authorization-config={tmp_path / 'none'}").launch()
    assert server.exit_status() == 1
    assert f"Error: open {tmp_path / 'none'}: no such file or directory" in server.said


class Hooks:
    """Two webhooks: each answers as it is told, and remembers who was asked about."""

    def __init__(self, folder):
        self.path = folder / "authorization.yaml"
        self.answers = {"one": {"allowed": False}, "two": {"allowed": False}}
        self.servers = {name: HTTPSServer(folder / name, self._answer(name)) for name in self.answers}

    def _answer(self, name):
        def answer(asked):
            status = self.answers[name]
            body = {"apiVersion": asked.body["apiVersion"], "kind": asked.body["kind"], "status": status}
            return (500, b"") if status is None else (200, body)

        return answer

    def hook(self, name, **changed):
        info = {"type": "KubeConfigFile", "kubeConfigFile": str(self.servers[name].kubeconfig())}
        kept = {"cacheAuthorizedRequests": False, "cacheUnauthorizedRequests": False}
        return webhook(name, connectionInfo=info, **{**kept, **changed})

    def asked(self, name):
        users = [asked.body["spec"]["user"] for asked in self.servers[name].asked]
        self.servers[name].asked.clear()
        return users

    def close(self):
        for server in self.servers.values():
            server.close()


@pytest.fixture
def hooks(tmp_path):
    hooks = Hooks(tmp_path)
    yield hooks
    hooks.close()


def test_webhooks_are_asked_in_order_if_their_conditions_match(new_server, hooks):
    skip_alice = conditions("request.user != 'alice'", "has(request.resourceAttributes)")
    fails = conditions("request.extra['x'].size() > 0")
    hooks.path.write_bytes(document(hooks.hook("one", **skip_alice), hooks.hook("two", **fails), RBAC))
    server = new_server(f"--authorization-config={hooks.path}").start()
    hooks.answers["one"] = {"allowed": True}
    with server.client("alice") as alice, server.client("bob") as bob, server.client() as admin:
        assert bob.call("GET", "/api/v1/pods")[0] == 200
        assert (hooks.asked("one"), hooks.asked("two")) == (["bob"], [])
        status, body = alice.text("/api/v1/pods")
        assert (status, hooks.asked("one"), hooks.asked("two")) == (500, [], [])
        assert (
            "cel evaluation error: expression 'request.extra['x'].size() &gt; 0' resulted in error: no such key: x"
            in body
        )
        _, text = admin.text("/metrics")
    assert 'apiserver_authorization_match_condition_exclusions_total{type="Webhook",name="one"} 1' in text
    assert 'apiserver_authorization_match_condition_evaluation_errors_total{type="Webhook",name="two"} 1' in text
    assert 'apiserver_authorization_match_condition_evaluation_seconds_count{type="Webhook",name="one"} 2' in text


def test_conditions_see_all_of_the_request(new_server, hooks):
    seen = (
        "request.resourceAttributes.resource == 'pods' && request.resourceAttributes.namespace == '' && "
        "request.resourceAttributes.labelSelector.requirements.exists(r, r.key == 'a' && 'b' in r.values) && "
        "request.resourceAttributes.?fieldSelector.requirements.orValue([]).size() == 1 && request.uid == '' && "
        "'system:authenticated' in request.groups"
    )
    hooks.path.write_bytes(document(hooks.hook("one", **conditions(seen)), RBAC))
    server = new_server(f"--authorization-config={hooks.path}").start()
    hooks.answers["one"] = {"allowed": True}
    with server.client("alice") as alice:
        assert alice.call("GET", "/api/v1/pods?labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dn")[0] == 200
        assert alice.call("GET", "/api/v1/pods?labelSelector=a%3Dc&fieldSelector=spec.nodeName%3Dn")[0] == 403


def test_a_failing_webhook_denies_or_has_no_opinion_as_configured(new_server, hooks):
    only_alice = conditions("request.user == 'alice'")
    hooks.path.write_bytes(
        document(
            hooks.hook("one", failurePolicy="Deny", **only_alice), hooks.hook("two", failurePolicy="NoOpinion"), RBAC
        )
    )
    server = new_server(f"--authorization-config={hooks.path}").start()
    for hook in hooks.servers.values():
        hook.close()
    with server.client("alice") as alice, server.client("bob") as bob:
        status, body = alice.text("/api")
        assert status == 500
        assert "connection refused" in body
        assert bob.text("/api")[0] == 200


def changed(server, path, data, event):
    """Replace the file, and ask until the change has been noticed."""
    path.write_bytes(data)
    with server.client() as admin:
        while not any(event in line for line in server.log):
            admin.text("/version")
    server.log.clear()


def test_a_good_change_takes_effect_and_a_bad_one_does_not(new_server, hooks):
    hooks.path.write_bytes(document(RBAC))
    server = new_server(f"--authorization-config={hooks.path}").start()
    hooks.answers["one"] = {"allowed": True}
    with server.client("alice") as alice, server.client() as admin:
        assert alice.text("/api/v1/pods")[0] == 403
        changed(server, hooks.path, document(hooks.hook("one"), RBAC), "authorization_config_reloaded")
        assert alice.text("/api/v1/pods")[0] == 200
        for bad in (
            b"",
            document(webhook()),
            document(hooks.hook("one")),
            document(RBAC, {"type": "Node", "name": "node"}),
        ):
            changed(server, hooks.path, bad, "authorization_config_not_reloaded")
            assert alice.text("/api/v1/pods")[0] == 200
        changed(server, hooks.path, document(RBAC), "authorization_config_reloaded")
        assert alice.text("/api/v1/pods")[0] == 403
        _, text = admin.text("/metrics")
    prefix = "apiserver_authorization_config_controller_automatic_reloads_total"
    assert f'{prefix}{{status="success",apiserver_id_hash="sha256:' in text
    totals = [line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(prefix)]
    assert totals == ["4", "2"]
    assert text.count("\napiserver_authorization_config_controller_last_config_info{") == 1
