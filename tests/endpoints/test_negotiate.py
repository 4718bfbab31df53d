"""Which form an answer has, and how it is refused when there is none."""

from __future__ import annotations

import pytest

from kapi.api.errors import NotAcceptable
from kapi.endpoints.negotiate import JSON, PROTOBUF, YAML, Form, check_offered, negotiate, negotiate_stream

ACCEPTED = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
OFFERED = f"406: Not Acceptable\n\nAvailable representations: {JSON}, {YAML}, {PROTOBUF}"
STREAMS = f"{JSON};stream=watch, {PROTOBUF};stream=watch"
TABLE = f"{JSON};as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize("accept", ["application/*", "APPLICATION/JSON", "text/html", "garbage", ","])
def test_routes_match_media_types_by_the_letter(accept: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        negotiate(accept)
    assert (refused.value.message, refused.value.details) == (OFFERED, {})


def test_routes_of_lists_tell_of_streams() -> None:
    with pytest.raises(NotAcceptable) as refused:
        negotiate("text/html", listed=True)
    assert refused.value.message == f"{OFFERED}, {STREAMS}"


def test_what_has_no_route_is_negotiated_only() -> None:
    assert negotiate("application/*", routed=False) == Form(JSON)
    with pytest.raises(NotAcceptable) as refused:
        negotiate("text/html", routed=False)
    assert (refused.value.message, refused.value.details) == (ACCEPTED, None)


def test_parameters_without_a_value_are_none() -> None:
    assert negotiate(f"{JSON};as=") == Form(JSON)
    with pytest.raises(NotAcceptable, match="only the following"):
        negotiate(f"{JSON};as=;v=v1;g=meta.k8s.io")


def test_what_is_not_transformed_takes_the_next_best_form() -> None:
    assert negotiate(f"{TABLE},{YAML};q=0.5", transforming=False) == Form(YAML)
    assert negotiate(f"{TABLE},{YAML};q=0.5") == Form(JSON, "Table", "v1")


def test_there_are_no_streams_of_yaml() -> None:
    assert negotiate_stream(f"{YAML},{JSON};q=0.5") == Form(JSON)
    with pytest.raises(NotAcceptable) as refused:
        negotiate_stream(YAML)
    assert refused.value.message == f"only the following media types are accepted: {STREAMS}"


def test_what_has_one_form_is_refused_to_those_who_do_not_take_it() -> None:
    check_offered("text/html, */*;q=0.1", JSON)
    with pytest.raises(NotAcceptable) as refused:
        check_offered("application/*", JSON)
    assert refused.value.message == f"406: Not Acceptable\n\nAvailable representations: {JSON}"
