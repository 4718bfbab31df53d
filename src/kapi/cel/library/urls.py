"""URLs, read as Go's net/url does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, unquote_plus

from kapi.api.fields import go_quote
from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.types import BOOL, STRING, CelType, list_of, map_of, struct
from kapi.cel.values import EvaluationError

URL = struct("kubernetes.URL")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_ENCODED_PATH = re.compile(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/\[\]]|%[0-9A-Fa-f]{2})*")
_BAD_USER = re.compile(r"[^A-Za-z0-9\-._:~!$&'()*+,;=%@]")
_ASCII_ESCAPE = re.compile(r"%(?!25)[0-7][0-9A-Fa-f]")
_BAD_HOST = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%\x80-\U0010ffff]")


class UrlError(ValueError):
    """The text is no URL."""


@dataclass(frozen=True, slots=True)
class Url:
    text: str
    scheme: str = ""
    host: str = ""
    path: str = ""
    query: str = ""

    @property
    def cel_type(self) -> CelType:
        return URL

    def hostname(self) -> str:
        if self.host.startswith("["):
            return self.host[1:].split("]", 1)[0]
        return self.host.rsplit(":", 1)[0] if ":" in self.host else self.host

    def port(self) -> str:
        rest = self.host.rsplit("]", 1)[-1]
        return rest.rsplit(":", 1)[1] if ":" in rest else ""

    def escaped_path(self) -> str:
        if _ENCODED_PATH.fullmatch(self.path):
            return self.path
        return quote(unquote(self.path), safe="$&+,/:;=@-_.~")

    def values(self) -> dict[str, list[str]]:
        result: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if part and ";" not in part and not _BAD_ESCAPE.search(part):
                name, _, value = part.partition("=")
                result.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return result


def parse(text: str, *, request: bool) -> Url:
    """With request, as ParseRequestURI: an absolute URL or an absolute path, no fragment."""
    rest = text
    if not request:
        rest = rest.split("#", 1)[0]
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in rest):
        raise UrlError("net/url: invalid control character in URL")
    if not rest and request:
        raise UrlError("empty url")
    if rest == "*":
        return Url(text, path="*")
    scheme = ""
    match = _SCHEME.match(rest)
    if match:
        scheme, rest = match.group(1).lower(), rest[match.end() :]
    elif rest.startswith(":"):
        raise UrlError("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        return _relative(text, scheme, rest, query, request=request)
    host = ""
    if rest.startswith("//") and (scheme or not request) and not rest.startswith("///"):
        host, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _host(host)
    elif rest.startswith("///") and scheme:
        rest = rest[2:]
    _check_escapes(rest)
    return Url(text, scheme, host, rest, query)


def _relative(text: str, scheme: str, rest: str, query: str, *, request: bool) -> Url:
    if scheme:
        return Url(text, scheme, query=query)
    if request:
        raise UrlError("invalid URI for request")
    if ":" in rest.split("/", 1)[0]:
        raise UrlError("first path segment in URL cannot contain colon")
    _check_escapes(rest)
    return Url(text, path=rest, query=query)


def _check_escapes(text: str) -> None:
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise UrlError(f'invalid URL escape "{bad.group()}"')


def _host(authority: str) -> str:
    user, _, host = authority.rpartition("@")
    if _BAD_USER.search(user):
        raise UrlError("net/url: invalid userinfo")
    if host.startswith("["):
        if "]" not in host:
            raise UrlError("missing ']' in host")
        port = host.rsplit("]", 1)[1]
    else:
        port = host[host.index(":") :] if ":" in host else ""
    if port and not re.fullmatch(r":[0-9]*", port):
        raise UrlError(f'invalid port "{port}" after host')
    bad = _BAD_HOST.search(host)
    if bad:
        raise UrlError(f"invalid character {go_quote(bad.group())} in host name")
    _check_escapes(host)
    escaped = _ASCII_ESCAPE.search(host)
    if escaped and not host.startswith("["):
        # Hosts may only be escaped where they are not ASCII.
        raise UrlError(f'invalid URL escape "{escaped.group()}"')
    return unquote(host)


def url(text: str) -> Url:
    try:
        parse(text, request=True)
        return parse(text, request=False)
    except UrlError as error:
        message = f'URL parse error during conversion from string: parse "{text}": {error}'
        raise EvaluationError(message) from None


def is_url(text: str) -> bool:
    try:
        parse(text, request=True)
    except UrlError:
        return False
    return True


def library() -> Library:
    def getter(name: str, word: str, run: Any, result: CelType = STRING) -> Any:
        return {name: (method(f"url_get_{word}", (URL,), result, run),)}

    return Library(
        functions={
            "url": (overload("string_to_url", (STRING,), URL, url, prices.traversal),),
            "isURL": (overload("is_url_string", (STRING,), BOOL, is_url),),
            **getter("getScheme", "scheme", lambda value: value.scheme),
            **getter("getHost", "host", lambda value: value.host),
            **getter("getHostname", "hostname", Url.hostname),
            **getter("getPort", "port", Url.port),
            **getter("getEscapedPath", "escaped_path", Url.escaped_path),
            **getter("getQuery", "query", Url.values, map_of(STRING, list_of(STRING))),
        },
    )
