"""Webhook tokens through a real server: what the webhook is asked, and what becomes of each answer."""

from __future__ import annotations

import itertools

import pytest

from tests.https_server import HTTPSServer
from tests.server_process import Server

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
ALICE = {"username": "alice", "uid": "7", "groups": ["dev"], "extra": {"example.org/a": ["b", "c"]}}


def says(**status):
    def answer(asked):
        return 200, {"apiVersion": asked.body["apiVersion"], "kind": asked.body["kind"], "status": status}

    return answer


class World:
    def __init__(self, folder, *flags):
        self.hook = HTTPSServer(folder / "hook", says(authenticated=True, user=ALICE))
        self.server = Server(
            folder,
            "--authorization-mode=RBAC",
            "--api-audiences=us,them",
            f"--authentication-token-webhook-config-file={self.hook.kubeconfig('/review')}",
            *flags,
        )
        self._numbers = itertools.count()

    def who(self, answer, token=""):
        """Who a new token is, while the webhook answers this: (status, user or message), and what it was asked."""
        token = token or f"token-{next(self._numbers)}"
        self.hook.answer = answer
        self.hook.asked.clear()
        with self.server.client("", token=token) as client:
            status, body = client.call("POST", SELF, {})
        found = body["status"]["userInfo"] if status == 201 else body["message"]
        return status, found, [asked.body for asked in self.hook.asked]

    def review(self, answer, token="", **spec):
        self.hook.answer = answer
        with self.server.client() as admin:
            return admin.create(REVIEWS, {"spec": {"token": token or f"token-{next(self._numbers)}", **spec}})["status"]

    def end(self):
        self.server.end()
        self.hook.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("tokens"), "--authentication-token-webhook-version=v1")
    try:
        world.server.start()
        yield world
    finally:
        world.end()


def test_a_token_is_whom_the_webhook_says(world):
    status, user, asked = world.who(says(authenticated=True, user=ALICE), "hush")
    assert status == 201
    assert user == {**ALICE, "groups": ["dev", "system:authenticated"]}
    assert asked[0]["apiVersion"] == "authentication.k8s.io/v1"
    assert asked[0]["spec"] == {"token": "hush", "audiences": ["us", "them"]}
    assert world.hook.asked[0].path == "/review"


@pytest.mark.parametrize(
    "answer",
    [
        says(authenticated=False),
        says(authenticated=False, user=ALICE),
        says(authenticated=False, error="no such token"),
        says(authenticated=True, user=ALICE, audiences=["others"]),
        says(authenticated="yes", user=ALICE),
        says(authenticated=True, user={"username": 3}),
        lambda _: (200, b"nonsense"),
        lambda _: (503, b"{}"),
        lambda _: (401, b"{}"),
    ],
)
def test_anything_else_is_nobody(world, answer):
    status, message, asked = world.who(answer)
    assert (status, message, len(asked)) == (401, "Unauthorized", 1)


def test_reviews_tell_what_the_webhook_said(world):
    status = world.review(says(authenticated=False, error="no such token"))
    assert status["error"] == "[invalid bearer token, no such token]"
    assert not status.get("authenticated")
    status = world.review(says(authenticated=True, user=ALICE, audiences=["them", "others"]), audiences=["them"])
    assert (status["authenticated"], status["audiences"]) == (True, ["them"])
    status = world.review(says(authenticated=True, user=ALICE), audiences=["x"])
    assert not status.get("authenticated")


def test_an_error_does_not_tell_the_token(world):
    status = world.review(lambda asked: (200, {"kind": "TokenReview", "spec": asked.body["spec"]}), "very-secret")
    assert "Object 'apiVersion' is missing" in status["error"]
    assert "very-secret" not in status["error"]
    assert "very-secret" not in world.server.said


def test_an_error_that_may_pass_is_asked_about_again(world):
    answers = iter([lambda _: (500, b"{}"), says(authenticated=True, user=ALICE)])
    status, _, asked = world.who(lambda asked: next(answers)(asked))
    assert (status, len(asked)) == (201, 2)


def test_answers_are_kept_but_errors_are_not(world):
    refused = says(authenticated=False)
    assert world.who(refused, "unknown")[2] != []
    assert world.who(refused, "unknown")[2] == [], "that it is no token is known"
    assert world.who(says(authenticated=False, error="try later"), "later")[2] != []
    assert world.who(says(authenticated=True, user=ALICE), "later")[0] == 201


def test_other_kinds_of_tokens_come_first(tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("known,carl,1\n")
    world = World(tmp_path, f"--token-auth-file={tokens}")
    try:
        world.server.start()
        status, user, asked = world.who(says(authenticated=True, user=ALICE), "known")
        assert (status, user["username"], asked) == (201, "carl", [])
        assert world.who(says(authenticated=True, user=ALICE))[2][0]["apiVersion"] == "authentication.k8s.io/v1beta1"
    finally:
        world.end()


def test_a_webhook_that_is_gone_lets_nobody_in(tmp_path):
    world = World(tmp_path)
    try:
        world.server.start()
        world.hook.close()
        status = world.review(None)
        assert f'Post "{world.hook.url}/review": dial tcp 127.0.0.1:' in status["error"]
        assert world.who(None) == (401, "Unauthorized", [])
    finally:
        world.end()
