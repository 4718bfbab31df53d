"""Bearer tokens and the token file, and how they stand beside anonymous requests."""

from __future__ import annotations

import io

import pytest

from kapi.api.errors import Unauthorized
from kapi.api.user import User
from kapi.authn.anonymous import Anonymous, InsecureSuperuser
from kapi.authn.authenticator import Union, as_authenticated
from kapi.authn.bearer import EXTRA_SPACE, BearerToken
from kapi.authn.token_file import TokenFile, TokenFileError
from kapi.authn.tokens import Tokens
from kapi.telemetry.log import log

LINES = 'admintoken,admin,1,"system:masters"\nusertoken,alice,2,"dev,ops"\n\nbare,carl,3\n'


@pytest.fixture
def tokens(tmp_path):
    def load(lines=LINES):
        path = tmp_path / "tokens.csv"
        path.write_text(lines)
        return TokenFile.load(path)

    return load


@pytest.fixture
def bearer(tokens):
    return BearerToken(Tokens([tokens()]))


@pytest.mark.parametrize(
    ("token", "user"),
    [
        ("admintoken", User(name="admin", uid="1", groups=("system:masters", "system:authenticated"))),
        ("usertoken", User(name="alice", uid="2", groups=("dev", "ops", "system:authenticated"))),
        ("bare", User(name="carl", uid="3", groups=("system:authenticated",))),
    ],
)
def test_a_token_is_its_user_with_all_groups(bearer, new_call, run, token, user):
    assert run(bearer.authenticate(new_call(f"Bearer {token}"))) == user


@pytest.mark.parametrize(
    "header", ["bearer admintoken", "BEARER admintoken", "  Bearer admintoken  ", "Bearer admintoken x"]
)
def test_the_scheme_is_of_any_case_and_what_follows_the_token_is_ignored(bearer, new_call, run, header):
    assert run(bearer.authenticate(new_call(header))).name == "admin"


@pytest.mark.parametrize(
    "header", [None, "", "Basic YTpi", "Token admintoken", "Bearer", "Bearer ", "admintoken", "Bearer\tadmintoken"]
)
def test_what_is_no_bearer_token_is_no_credential(bearer, new_call, run, header):
    call = new_call(header)
    assert run(bearer.authenticate(call)) is None
    assert call.warnings == []


def test_an_extra_space_before_the_token_is_warned_of(bearer, new_call, run):
    call = new_call("Bearer  admintoken")
    assert run(bearer.authenticate(call)) is None
    assert call.warnings == [EXTRA_SPACE]


@pytest.mark.parametrize("token", ["nosuchtoken", "ADMINTOKEN", "admintoke", "admintokenn"])
def test_an_unknown_token_is_refused_even_where_anonymous_requests_are_allowed(bearer, new_call, run, token):
    with pytest.raises(Unauthorized, match="invalid bearer token"):
        run(Union([bearer], anonymous=Anonymous()).authenticate(new_call(f"Bearer {token}")))


def test_no_credential_is_anonymous_where_that_is_allowed(bearer, new_call, run):
    user = run(Union([bearer], anonymous=Anonymous()).authenticate(new_call()))
    assert user == User(name="system:anonymous", groups=("system:unauthenticated",))
    assert run(Union([bearer]).authenticate(new_call())) is None


def test_a_bad_credential_does_not_hide_a_good_one(bearer, new_call, run):
    class Bad:
        def at_once(self, call):
            return None

        async def authenticate(self, call):
            raise Unauthorized("bad certificate")

    assert run(Union([Bad(), bearer]).authenticate(new_call("Bearer usertoken"))).name == "alice"


def test_the_insecure_port_has_one_user_who_may_do_everything(new_call, run):
    user = run(InsecureSuperuser().authenticate(new_call()))
    assert (user.name, user.groups) == ("system:unsecured", ("system:masters", "system:authenticated"))


def test_the_group_of_the_authenticated_is_added_once_and_never_to_the_anonymous():
    given = User(name="dup", groups=("a", "a", "system:authenticated"))
    assert as_authenticated(given) is given
    assert as_authenticated(User(name="system:anonymous")).groups == ()
    assert as_authenticated(User(name="x", groups=("system:unauthenticated",))).groups == ("system:unauthenticated",)


def test_a_line_with_too_few_columns_is_an_error(tokens):
    with pytest.raises(TokenFileError, match=r"must have at least 3 columns \(token, user name, user uid\), found 2"):
        tokens("good,user,1\ntoken,user\n")


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(TokenFileError, match="no such file or directory"):
        TokenFile.load(tmp_path / "missing.csv")


@pytest.mark.parametrize("content", [b'a,b,c,"unclosed\n', b'a,b,c,"x"y\n', b"\xff\xfe,b,c\n"])
def test_a_malformed_file_is_an_error(tmp_path, content):
    path = tmp_path / "tokens.csv"
    path.write_bytes(content)
    with pytest.raises(TokenFileError):
        TokenFile.load(path)


def test_an_empty_token_is_skipped_and_of_two_equal_ones_the_last_counts(tokens, run, monkeypatch):
    monkeypatch.setattr(log, "stream", io.StringIO())
    loaded = tokens(",nobody,0\nsame,first,1\nsame,second,2\n")
    assert run(loaded.authenticate_token("", ())) is None
    assert run(loaded.authenticate_token("same", ())).user.name == "second"
    assert "empty_token_in_token_file" in log.stream.getvalue()
    assert "duplicate_token_in_token_file" in log.stream.getvalue()
