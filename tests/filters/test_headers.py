"""Filters that add headers: audit ID, cache control, HSTS, CORS, warnings."""

from __future__ import annotations

import re

import pytest

from kapi.filters.audit_id import with_audit_id
from kapi.filters.cache_control import with_cache_control
from kapi.filters.cors import with_cors
from kapi.filters.hsts import with_hsts
from kapi.filters.warnings import EACH, TOTAL, with_warnings
from kapi.wire.messages import Response

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def values(response, name):
    return [v for k, v in response.headers if k == name]


def test_every_answer_carries_a_random_audit_id(new_call, ok, answer):
    ids = {values(answer(with_audit_id(ok), new_call()), b"audit-id")[0].decode() for _ in range(50)}
    assert len(ids) == 50
    assert all(UUID4.fullmatch(i) for i in ids)


def test_the_clients_own_audit_id_is_kept(new_call, ok, answer):
    call = new_call(audit_id="mine-1")
    assert values(answer(with_audit_id(ok), call), b"audit-id") == [b"mine-1"]
    assert call.audit_id == "mine-1"


@pytest.mark.parametrize("bad", ["x" * 257, "tab\there", "ümlaut"])
def test_an_unusable_audit_id_is_replaced(new_call, ok, answer, bad):
    call = new_call(audit_id=bad)
    answer(with_audit_id(ok), call)
    assert UUID4.fullmatch(call.audit_id)


def test_an_audit_id_that_a_proxied_server_gave_is_not_repeated(new_call, answer):
    async def proxied(call):
        return Response(200, [(b"audit-id", b"theirs")])

    assert values(answer(with_audit_id(proxied), new_call()), b"audit-id") == [b"theirs"]


def test_answers_are_not_for_shared_caches_unless_the_handler_says_so(new_call, ok, answer):
    assert values(answer(with_cache_control(ok), new_call()), b"cache-control") == [b"no-cache, private"]

    async def public(call):
        return Response(200, [(b"cache-control", b"public, max-age=3600")])

    assert values(answer(with_cache_control(public), new_call()), b"cache-control") == [b"public, max-age=3600"]


def test_hsts_joins_its_directives_and_costs_nothing_without_any(new_call, ok, answer):
    response = answer(with_hsts(ok, ["max-age=31536000", "includeSubDomains"]), new_call())
    assert values(response, b"strict-transport-security") == [b"max-age=31536000; includeSubDomains"]
    assert with_hsts(ok, []) is ok


def test_an_allowed_origin_gets_the_cors_headers(new_call, ok, answer):
    handle = with_cors(ok, [r"//example\.com(:|$)"])
    response = answer(handle, new_call(origin="https://example.com"))
    assert values(response, b"access-control-allow-origin") == [b"https://example.com"]
    assert values(response, b"access-control-allow-credentials") == [b"true"]
    assert response.body == b"ok"


def test_another_origin_gets_none_of_them(new_call, ok, answer):
    handle = with_cors(ok, [r"//example\.com(:|$)"])
    for headers in ({"origin": "https://example.com.evil.org"}, {}):
        assert answer(handle, new_call(**headers)).headers == []


def test_a_preflight_ends_before_authentication(new_call, answer):
    async def must_not_be_asked(call):
        raise AssertionError

    handle = with_cors(must_not_be_asked, [".*"])
    response = answer(handle, new_call(method="OPTIONS", origin="https://a"))
    assert response.status == 204
    assert values(response, b"access-control-allow-methods") == [b"POST, GET, OPTIONS, PUT, DELETE, PATCH"]


def warned(new_call, answer, *texts):
    async def handle(call):
        for text in texts:
            call.warn(text)
        return Response(200, [])

    return values(answer(with_warnings(handle), new_call()), b"warning")


def test_warnings_are_quoted_and_said_once(new_call, answer):
    found = warned(new_call, answer, 'a "b" \\ c', "ü", 'a "b" \\ c')
    assert found == [b'299 - "a \\"b\\" \\\\ c"', '299 - "ü"'.encode()]


def test_a_warning_with_control_characters_is_dropped(new_call, answer):
    assert warned(new_call, answer, "line\r\nSet-Cookie: x", "good") == [b'299 - "good"']


def test_many_long_warnings_are_cut_short(new_call, answer):
    texts = [f"{i:03d}" + "x" * 400 for i in range(40)]
    found = warned(new_call, answer, *texts)
    assert len(found) == TOTAL // EACH
    assert all(len(v) == len(b'299 - ""') + EACH for v in found)


def test_a_few_long_warnings_are_whole(new_call, answer):
    assert warned(new_call, answer, "x" * 4000) == [b'299 - "' + b"x" * 4000 + b'"']
