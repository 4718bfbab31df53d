"""The webhook authorizer through a real server: what it sends, and what becomes of each answer."""

from __future__ import annotations

import threading

import pytest

from tests.https_server import HTTPSServer
from tests.server_process import Server

REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def says(**status):
    """A webhook that gives everyone this answer."""

    def answer(asked):
        return 200, {"apiVersion": asked.body["apiVersion"], "kind": asked.body["kind"], "status": status}

    return answer


class World:
    """A server whose only authorizer is the webhook, which answers as the test says."""

    def __init__(self, folder, *flags):
        self.hook = HTTPSServer(folder / "hook", says(allowed=True))
        self.server = Server(
            folder,
            "--authorization-mode=Webhook,RBAC",
            f"--authorization-webhook-config-file={self.hook.kubeconfig('/authorize', token='hush')}",
            *flags,
        )

    def ask(self, answer, target="/api/v1/namespaces/default/pods", method="GET", user="alice"):
        """What the client is answered, and what the webhook was asked, while it answers this."""
        self.hook.answer = answer
        self.hook.asked.clear()
        with self.server.client(user) as client:
            response = client.send(method, target)
            return response.status, response.read().decode(), [asked.body["spec"] for asked in self.hook.asked]

    def end(self):
        self.server.end()
        self.hook.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Nothing is kept: each question is asked."""
    never = ("--authorization-webhook-cache-authorized-ttl=0", "--authorization-webhook-cache-unauthorized-ttl=0")
    world = World(tmp_path_factory.mktemp("webhook"), "--authorization-webhook-version=v1", *never)
    try:
        world.server.start()
        yield world
    finally:
        world.end()


def test_a_consent_lets_in_and_the_question_tells_all(world):
    status, _, asked = world.ask(says(allowed=True), "/api/v1/namespaces/default/configmaps?limit=1")
    assert status == 200
    spec = asked[0]
    assert spec.pop("extra")["authentication.kubernetes.io/credential-id"][0].startswith("X509SHA256=")
    assert spec == {
        "resourceAttributes": {
            "namespace": "default",
            "verb": "list",
            "version": "v1",
            "resource": "configmaps",
        },
        "user": "alice",
        "groups": ["system:authenticated"],
    }
    sent = world.hook.asked[0]
    assert (sent.method, sent.path, sent.headers["authorization"]) == ("POST", "/authorize", "Bearer hush")
    assert sent.body["apiVersion"] == "authorization.k8s.io/v1"
    assert sent.body["kind"] == "SubjectAccessReview"
    assert sent.headers["user-agent"].startswith("kube-apiserver/v1.")


def test_paths_and_selectors_are_asked_about(world):
    _, _, asked = world.ask(says(allowed=True), "/version")
    assert asked[0]["nonResourceAttributes"] == {"path": "/version", "verb": "get"}
    selectors = "fieldSelector=spec.nodeName%3Da,status.phase!%3DFailed&labelSelector=app%20in%20(b,c),!d,e,f!%3Dg"
    _, _, asked = world.ask(says(allowed=True), f"/api/v1/pods?{selectors}")
    attributes = asked[0]["resourceAttributes"]
    assert attributes["fieldSelector"]["requirements"] == [
        {"key": "spec.nodeName", "operator": "In", "values": ["a"]},
        {"key": "status.phase", "operator": "NotIn", "values": ["Failed"]},
    ]
    found = sorted(attributes["labelSelector"]["requirements"], key=lambda r: r["key"])
    assert [(r["key"], r["operator"], sorted(r.get("values", []))) for r in found] == [
        ("app", "In", ["b", "c"]),
        ("d", "DoesNotExist", []),
        ("e", "Exists", []),
        ("f", "NotIn", ["g"]),
    ]


def test_a_selector_that_cannot_be_read_is_left_out(world):
    status, _, asked = world.ask(says(allowed=True), "/api/v1/pods?labelSelector=%3D%3D")
    assert status == 400
    assert "labelSelector" not in asked[0]["resourceAttributes"]


def test_no_opinion_asks_the_next_and_a_denial_does_not(world):
    status, body, _ = world.ask(says(allowed=False, reason="not today"))
    assert status == 403
    assert 'in the namespace \\"default\\": default: not today' in body
    assert world.ask(says(allowed=False), "/api")[0] == 200, "RBAC lets everyone discover"
    status, body, _ = world.ask(says(allowed=False, denied=True, reason="never"), "/api")
    assert status == 403
    assert body.endswith('cannot get path \\"/api\\": never","reason":"Forbidden","details":{},"code":403}\n')


def test_the_privileged_are_not_asked_about(world):
    status, _, asked = world.ask(says(denied=True), user="admin")
    assert (status, asked) == (200, [])


def test_consent_and_denial_at_once_is_an_error(world):
    status, body, _ = world.ask(says(allowed=True, denied=True))
    assert status == 500
    assert body == (
        'Internal Server Error: "/api/v1/namespaces/default/pods": webhook subject access review returned both allow '
        "and deny response\n"
    )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda _: (403, b"go away"), "unknown"),
        (lambda _: (200, b"{"), "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (lambda _: (200, {"kind": "SubjectAccessReview"}), "Object 'apiVersion' is missing"),
        (lambda _: (200, {"apiVersion": "v1", "kind": "Pod"}), 'no kind "Pod" is registered for version "v1"'),
        (says(allowed="yes"), "json: cannot unmarshal status.allowed into a bool"),
        (lambda _: (503, b"{}"), "the server is currently unable to handle the request"),
    ],
)
def test_what_is_no_answer_lets_nobody_in_and_is_told(world, answer, problem):
    status, body, asked = world.ask(answer)
    assert status == 500
    assert body.startswith('Internal Server Error: "/api/v1/namespaces/default/pods": ')
    assert problem in body
    assert len(asked) == 1


def test_what_somebody_else_allows_needs_no_webhook(world):
    assert world.ask(lambda _: (503, b""), "/api")[0] == 200


def test_an_error_that_may_pass_is_asked_about_again(world):
    answers = iter([(429, b"{}"), (503, b"{}", {"retry-after": "0"}), says(allowed=True)])

    def answer(asked):
        found = next(answers)
        return found if isinstance(found, tuple) else found(asked)

    status, _, asked = world.ask(answer)
    assert (status, len(asked)) == (200, 3)


def test_reviews_tell_of_the_webhook(world):
    world.hook.answer = says(allowed=False, reason="not today")
    world.hook.asked.clear()
    requirements = [{"key": "a", "operator": "In", "values": ["b"]}, {"key": "c", "operator": "Later"}]
    attributes = {"resource": "pods", "verb": "list", "fieldSelector": {"requirements": requirements}}
    review = {"spec": {"user": "alice", "resourceAttributes": attributes}}
    with world.server.client() as admin:
        status = admin.create(REVIEWS, review)["status"]
        assert status == {
            "allowed": False,
            "reason": "default: not today",
            "evaluationError": "spec.resourceAttributes.fieldSelector partially ignored due to parse error",
        }
        asked = world.hook.asked[0].body["spec"]["resourceAttributes"]
        assert (asked["version"], asked["fieldSelector"]) == ("*", {"requirements": requirements[:1]})
        world.hook.answer = lambda _: (503, b"{}")
        status = admin.create(REVIEWS, {"spec": {"user": "alice", "resourceAttributes": {"verb": "get"}}})["status"]
        assert status["evaluationError"] == "the server is currently unable to handle the request"
        rules = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        status = admin.create(rules, {"spec": {"namespace": "default"}})["status"]
        assert status["incomplete"] is True
        assert status["evaluationError"] == "webhook authorizer does not support user rule resolution"


def test_round_trips_are_counted(world):
    world.ask(says(allowed=True))
    world.ask(lambda _: (503, b"{}"))
    with world.server.client() as admin:
        _, text = admin.text("/metrics")
    assert 'apiserver_authorization_webhook_evaluations_total{name="default",result="success"}' in text
    assert 'apiserver_authorization_webhook_evaluations_total{name="default",result="error"}' in text
    assert 'apiserver_authorization_webhook_evaluations_fail_open_total{name="default",result="error"}' in text
    assert 'apiserver_authorization_decisions_total{type="Webhook",name="default",decision="allowed"}' in text


@pytest.fixture
def new_world(tmp_path):
    made = []

    def make(*flags):
        made.append(World(tmp_path, *flags))
        made[-1].server.start()
        return made[-1]

    yield make
    for world in made:
        world.end()


def test_answers_are_kept_and_the_older_version_names_groups_otherwise(new_world):
    world = new_world()
    for _ in range(2):
        status, _, asked = world.ask(says(allowed=True), "/version")
        assert status == 200
    assert asked == [], "the second time nobody was asked"
    for _ in range(2):
        status, _, asked = world.ask(says(allowed=False), "/metrics")
        assert status == 403
    assert asked == []
    _, _, asked = world.ask(says(allowed=True), "/api")
    assert asked[0]["group"] == ["system:authenticated"]
    assert world.hook.asked[0].body["apiVersion"] == "authorization.k8s.io/v1beta1"


def test_a_webhook_that_is_gone_is_an_error_for_those_it_alone_could_allow(new_world):
    world = new_world()
    world.hook.close()
    with world.server.client("alice") as alice:
        status, body = alice.text("/api/v1/pods")
        assert status == 500
        assert f'Post "{world.hook.url}/authorize": dial tcp 127.0.0.1:' in body
        assert alice.text("/api")[0] == 200


def test_policies_learn_what_the_webhook_says_and_that_it_fails(new_world):
    world = new_world()
    group = "/apis/admissionregistration.k8s.io/v1"
    check = "authorizer.group('').resource('pods').labelSelector('a=b').namespace('x').check('guess')"
    said = "the server is currently unable to handle the request"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [
            {"expression": f"!({check}.errored() && {check}.error() == '{said}')", "message": "so it fails"}
        ],
    }

    def answer(asked):
        attributes = asked.body["spec"].get("resourceAttributes") or {}
        return (503, b"{}") if attributes.get("verb") == "guess" else says(allowed=True)(asked)

    world.hook.answer = answer
    configmaps = "/api/v1/namespaces/default/configmaps"
    with world.server.client() as admin, world.server.client("alice") as alice:
        admin.create(f"{group}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
        binding = {"policyName": "p", "validationActions": ["Deny"]}
        admin.create(f"{group}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": binding})
        status, body = alice.call("POST", configmaps, {"metadata": {"name": "c"}})
        assert status == 422
        assert body["message"].endswith("so it fails")
    asked = [a.body["spec"]["resourceAttributes"] for a in world.hook.asked if a.body["spec"].get("resourceAttributes")]
    guess = next(attributes for attributes in asked if attributes["verb"] == "guess")
    assert guess["labelSelector"]["requirements"] == [{"key": "a", "operator": "In", "values": ["b"]}]


def test_waiting_for_a_webhook_does_not_keep_others_waiting(new_world):
    world = new_world()
    release = threading.Event()

    def slow(asked):
        release.wait(30)
        return says(allowed=True)(asked)

    world.hook.answer = slow
    waiting = threading.Thread(target=world.ask, args=(slow,))
    waiting.start()
    with world.server.client() as admin:
        assert admin.text("/version")[0] == 200
    release.set()
    waiting.join(30)
    assert not waiting.is_alive()


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (["--authorization-mode=Webhook"], "authorization-mode Webhook's authorization config file not passed"),
        (
            ["--authorization-webhook-config-file=/dev/null"],
            "cannot specify --authorization-webhook-config-file without mode Webhook",
        ),
        (
            ["--authorization-mode=Webhook", "--authorization-webhook-config-file=/dev/null"],
            "/dev/null: not a kubeconfig file",
        ),
    ],
)
def test_flags_that_do_not_fit_keep_it_from_starting(new_server, flags, problem):
    server = new_server(*flags).launch()
    assert server.exit_status() == 1
    assert f"Error: {problem}" in server.said
