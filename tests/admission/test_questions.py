"""Evaluations on the event loop: given up when they must wait or take long, and begun anew."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from kapi.admission.evaluation import Evaluation, Expression, asked, compile_all
from kapi.admission.patience import Patience, TakesLong
from kapi.admission.questions import Questions
from kapi.api.authorizer import ALLOW, NO_OPINION, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.cel.types import BOOL


class Authorizer:
    """Allows to get, and notes who asked for what."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        return None

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        await asyncio.sleep(0)
        self.asked.append((user.name, attributes.verb, attributes.resource or attributes.path))
        return ALLOW if attributes.verb == "get" else NO_OPINION


class Attributes:
    resource: Any = type("Resource", (), {"group": "", "resource": "pods", "group_resource": ("", "pods")})
    subresource, namespace, name = "", "ns", "p"


def settled(text: str, seen: dict[str, Any] | None = None) -> tuple[Any, Authorizer]:
    authorizer = Authorizer()
    questions = Questions(authorizer, User(name="jane"))
    expressions: list[Expression | None] = [*compile_all([text], BOOL, params=False)]
    values = {**(seen or {}), **asked(Attributes(), questions)}  # type: ignore[arg-type]

    def evaluate(patience: Patience) -> Any:
        return Evaluation(values, patience).run(expressions, 10_000_000)[0][0]

    return asyncio.run(questions.settle(evaluate)), authorizer


def test_each_question_is_asked_once_and_for_the_right_user() -> None:
    pods = "authorizer.group('').resource('pods')"
    account = "authorizer.serviceAccount('ns', 'bot').path('/healthz').check('post').allowed()"
    result, authorizer = settled(f"{pods}.check('get').allowed() && {pods}.check('get').allowed()")
    assert (result.value, authorizer.asked) == (True, [("jane", "get", "pods")])
    result, authorizer = settled(f"!{account}")
    assert (result.value, authorizer.asked) == (True, [("system:serviceaccount:ns:bot", "post", "/healthz")])


def test_a_question_after_an_error_is_still_asked() -> None:
    result, authorizer = settled(
        "object.nosuch == 1 || authorizer.requestResource.check('get').allowed()", {"object": {}}
    )
    assert (result.value, authorizer.asked) == (True, [("jane", "get", "pods")])


def test_what_takes_long_is_run_in_a_thread() -> None:
    threads = []

    def evaluate(patience: Patience) -> str:
        threads.append(threading.get_ident())
        if patience.left is not None:
            raise TakesLong
        return "done"

    assert asyncio.run(Questions(Authorizer(), User(name="jane")).settle(evaluate)) == "done"
    assert threads[0] == threading.get_ident() != threads[1]


def test_the_same_comes_of_what_is_short_and_what_is_long() -> None:
    nested = "object.all(a, object.all(b, object.all(c, a <= 99 && b <= 99 && c <= 99)))"
    for size in (2, 30):
        result, _ = settled(nested, {"object": list(range(size))})
        assert result.value is True
    result, _ = settled(nested, {"object": list(range(100))})
    assert result.error.endswith("resulted in error: operation cancelled: actual cost limit exceeded")
