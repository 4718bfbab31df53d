"""Where a webhook is: a URL, or a service in the cluster."""

from __future__ import annotations

from urllib.parse import urlsplit

from kapi.api.fields import FieldError, go_quote, invalid, required
from kapi.api.formats import port_number
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object

_FORM = "; desired format: https://host[/path]"


def validate_client_config(config: Object, path: str) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is not None:
        return validate_service(service, f"{path}.service")
    return validate_url(url or "", f"{path}.url")


def validate_url(url: str, path: str) -> list[FieldError]:
    from kapi.cel.library.urls import UrlError, parse  # only needed for these kinds

    try:
        parse(url, request=False)
    except UrlError as error:
        return [required(path, f"url must be a valid URL: parse {go_quote(url)}: {error}{_FORM}")]
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        errors.append(invalid(path, host, f"host must be specified{_FORM}"))
    if "@" in parts.netloc:
        user = parts.netloc.rpartition("@")[0]
        errors.append(invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def validate_service(service: Object, path: str) -> list[FieldError]:
    # As upstream, which mixes up the two names: they are asked for in this order.
    errors = [required(f"{path}.{field}") for field in ("name", "namespace") if not service.get(_SWAPPED[field])]
    port = service.get("port", 443)
    problems = port_number(port)
    if problems:
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(problems)}"))
    return errors + _validate_path(service.get("path"), f"{path}.path")


_SWAPPED = {"name": "namespace", "namespace": "name"}


def _validate_path(given: str | None, path: str) -> list[FieldError]:
    if given in (None, "", "/"):
        return []
    if given == "//":
        return [invalid(path, given, "segment[0] may not be empty")]
    assert given is not None
    errors = [] if given.startswith("/") else [invalid(path, given, "must start with a '/'")]
    for i, step in enumerate(given[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid(path, given, f"segment[{i}] may not be empty"))
        else:
            errors += [invalid(path, given, f"segment[{i}]: {e}") for e in dns_subdomain(step)]
    return errors
