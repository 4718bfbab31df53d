"""An OpenID provider over real TLS: discovery, keys, redirections, and what is wrong with them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kapi.authn.jwt import read_unverified
from kapi.authn.provider import Provider, ProviderError, Web, max_age
from tests.authn.conftest import FakeClock
from tests.authn.issuer import Issuer, Key, Location

WELL_KNOWN = "/.well-known/openid-configuration"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    issuer = Issuer(tmp_path_factory.mktemp("issuer"))
    yield issuer
    issuer.close()


@pytest.fixture
def issuer(shared):
    """With nothing left of the test before."""
    shared.documents.clear()
    shared.server.asked.clear()
    return shared


class Told(list):
    """What was told of fetching keys."""

    def __call__(self, content):
        self.append(content)


@pytest.fixture(scope="session")
def background():
    """A loop that outlives the tests: a connection takes its time to close."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


@pytest.fixture
def verify(background, issuer):
    def ask(*tokens, told=None):
        """A new provider's word on each token: empty, or why not."""
        return asyncio.run_coroutine_threadsafe(words_on(issuer, tokens, told), background).result(30)

    return ask


async def words_on(issuer, tokens, told):
    web = Web(issuer.server.ca_pem)
    provider = Provider(issuer.url, web, FakeClock(), told=told)
    said = []
    for token in tokens:
        try:
            await (await provider.ready()).verify(read_unverified(token))
            said.append("")
        except ProviderError as error:
            said.append(str(error))
    web.close()
    return said


def test_keys_are_fetched_once_for_as_many_tokens_as_they_signed(issuer, verify):
    told = Told()
    assert verify(issuer.token(), issuer.token(sub="bob"), told=told) == ["", ""]
    assert issuer.fetches() == len(told) == 1


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"issuer": "https://other.example", "jwks_uri": "https://a/b"}, 'got "https://other.example"'),
        ({}, "oidc: issuer did not match the issuer returned by provider, expected "),
        (b"{", "oidc: failed to decode provider discovery object: "),
        (b"[]", "oidc: failed to decode provider discovery object: it is no object"),
        (None, "404 Not Found: nothing here"),
    ],
)
def test_a_provider_that_is_another_is_not_trusted(issuer, verify, document, said):
    issuer.documents[WELL_KNOWN] = document
    assert said in verify(issuer.token())[0]


def test_a_provider_without_keys_is_none(issuer, verify):
    issuer.documents[WELL_KNOWN] = {"issuer": issuer.url}
    assert verify(issuer.token()) == ["provider did not return JWKS URL"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"keys": "none"}, "failed to verify id token signature"),
        ({"keys": [{"kty": "RSA"}, {"kty": "oct", "k": "AAAA"}, 3]}, "failed to verify id token signature"),
        (b"[", "fetching keys oidc: failed to decode keys: "),
        (None, "fetching keys oidc: get keys failed: 404 Not Found nothing here"),
    ],
)
def test_keys_that_cannot_be_read_verify_nothing(issuer, verify, document, said):
    issuer.documents["/keys"] = document
    told = Told()
    assert verify(issuer.token(), told=told)[0].startswith(said)
    assert (told == [None]) is said.startswith("fetching")


@pytest.mark.parametrize(
    "uri", ["http://a/keys", "https://a:b/keys", "https://[/", "https://a/ b", "/keys", "https://"]
)
def test_keys_are_only_fetched_from_where_a_provider_may_have_them(issuer, verify, uri):
    issuer.documents[WELL_KNOWN] = {"issuer": issuer.url, "jwks_uri": uri}
    assert verify(issuer.token())[0].startswith("fetching keys oidc: get keys failed Get ")


def test_redirections_are_followed_within_reason(issuer, verify):
    issuer.documents["/elsewhere"] = {"issuer": issuer.url, "jwks_uri": f"{issuer.url}/round"}
    issuer.documents[WELL_KNOWN] = Location("/elsewhere")
    issuer.documents["/round"] = Location(f"{issuer.url}/round")
    assert verify(issuer.token())[0].endswith("stopped after 10 redirects")
    issuer.documents["/round"] = Location("/keys")
    assert verify(issuer.token()) == [""]


def test_unknown_keys_are_asked_for_a_few_times_only(issuer, verify):
    stranger = Key("unknown")
    said = verify(*(issuer.token(key=stranger, sub=str(number)) for number in range(40)))
    assert set(said) == {"failed to verify id token signature"}
    assert issuer.fetches() == 10, "more would be granted with time, which stands still"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("public, max-age=300", 300),
        ('max-age="60", must-revalidate', 60),
        ("max-age=300, no-store", 0),
        ("no-cache, max-age=300", 0),
        ("max-age=soon", 0),
    ],
)
def test_a_provider_may_say_how_long_its_keys_hold(header, seconds):
    assert max_age(header) == seconds
