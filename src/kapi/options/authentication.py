"""Authentication flags: who a request comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import Refused, flag
from kapi.options.kinds import BOOL, DURATION, PAIRS, STRING, STRING_ARRAY, STRINGS

_NO_OIDC = Refused("OpenID Connect tokens are not understood yet")
_NO_WEBHOOK = Refused("tokens are not sent to a webhook for review yet")
_HOUR = 3600.0
_LONGEST = float(2**32)


def _max_expiration(value: float) -> str | None:
    if value == 0 or _HOUR <= value <= _LONGEST:
        return None
    return "must be between 1 hour and 2^32 seconds"


def _url_problem(text: str) -> str | None:
    from urllib.parse import urlsplit  # costs milliseconds; most start-ups pass no URL

    try:
        urlsplit(text)
    except ValueError as error:
        return str(error)
    return None


def _jwks_uri(value: str) -> str | None:
    if not value:
        return None
    if (problem := _url_problem(value)) is not None:
        return f"must be a valid URL: {problem}"
    return None if value.lower().startswith("https:") else f"requires https scheme, parsed as: {value}"


def _issuer_problems(issuers: tuple[str, ...]) -> list[str]:
    problems, seen = [], set()
    for issuer in issuers:
        if not issuer:
            problems.append("service-account-issuer should not be an empty string")
        elif issuer in seen:
            problems.append(f'service-account-issuer "{issuer}" is already specified')
        elif ":" in issuer and (problem := _url_problem(issuer)) is not None:
            problems.append(f"service-account-issuer \"{issuer}\" contained a ':' but was not a valid URL: {problem}")
        seen.add(issuer)
    return problems


def _uid_headers(values: tuple[str, ...]) -> str | None:
    if values and "x-remote-uid" not in (value.lower() for value in values):
        return "is set without specifying the standard X-Remote-Uid header - API aggregation will not work"
    return checks.no_blanks(values)


@dataclass(kw_only=True, eq=False, repr=False)
class AuthenticationOptions:
    """The authentication flags, with their defaults."""

    section: ClassVar[str] = "authentication"

    anonymous_auth: bool = flag(
        BOOL,
        "Whether a request that nothing identifies is that of system:anonymous, in group system:unauthenticated.",
        default=True,
    )
    api_audiences: tuple[str, ...] = flag(
        STRINGS,
        "What this API calls itself in tokens. Unset, with an issuer: the issuer.",
    )
    authentication_config: str = flag(
        STRING,
        "The file that configures JWT and anonymous authentication.",
        standing=Refused("the authentication configuration file is not read yet"),
    )
    authentication_token_webhook_cache_ttl: float = flag(
        DURATION, "For how long the webhook's answers are kept.", default=120.0, standing=_NO_WEBHOOK
    )
    authentication_token_webhook_config_file: str = flag(
        STRING, "The kubeconfig of the webhook that reviews tokens.", standing=_NO_WEBHOOK
    )
    authentication_token_webhook_version: str = flag(
        STRING, "The version of TokenReview to send.", default="v1beta1", standing=_NO_WEBHOOK
    )
    basic_auth_file: str = flag(
        STRING,
        "A file of user names and passwords.",
        deprecated="removed in Kubernetes 1.19",
        standing=Refused(
            "passwords in a plain file were removed from Kubernetes in 1.19; use --client-ca-file or --token-auth-file"
        ),
    )
    client_ca_file: str = flag(
        STRING,
        "CAs of client certificates: a certificate that one of them signed identifies the client by its common name, "
        "in the groups that its organizations name.",
        check=checks.certificates,
    )
    enable_bootstrap_token_auth: bool = flag(
        BOOL,
        "Accept secrets of type bootstrap.kubernetes.io/token in kube-system as tokens.",
    )
    oidc_ca_file: str = flag(STRING, "The CA of the OpenID provider.", standing=_NO_OIDC)
    oidc_client_id: str = flag(STRING, "The client ID that tokens must be for.", standing=_NO_OIDC)
    oidc_groups_claim: str = flag(STRING, "The claim that holds the user's groups.", standing=_NO_OIDC)
    oidc_groups_prefix: str = flag(STRING, "What to put in front of groups.", standing=_NO_OIDC)
    oidc_issuer_url: str = flag(STRING, "The URL of the OpenID provider.", standing=_NO_OIDC)
    oidc_required_claim: Mapping[str, str] = flag(PAIRS, "A claim that tokens must have: key=value.", standing=_NO_OIDC)
    oidc_signing_algs: tuple[str, ...] = flag(
        STRINGS, "The signing algorithms to accept.", default=("RS256",), standing=_NO_OIDC
    )
    oidc_username_claim: str = flag(STRING, "The claim that holds the user's name.", default="sub", standing=_NO_OIDC)
    oidc_username_prefix: str = flag(STRING, "What to put in front of user names.", standing=_NO_OIDC)
    requestheader_allowed_names: tuple[str, ...] = flag(
        STRINGS,
        "The common names of front proxies' certificates. Empty: any that --requestheader-client-ca-file signed.",
        check=checks.no_blanks,
    )
    requestheader_client_ca_file: str = flag(STRING, "CAs of front proxies' certificates.", check=checks.certificates)
    requestheader_extra_headers_prefix: tuple[str, ...] = flag(
        STRINGS, "Prefixes of the headers that hold extra fields.", check=checks.no_blanks
    )
    requestheader_group_headers: tuple[str, ...] = flag(
        STRINGS, "The headers that hold groups.", check=checks.no_blanks
    )
    requestheader_uid_headers: tuple[str, ...] = flag(
        STRINGS, "The headers that hold the user's UID.", check=_uid_headers
    )
    requestheader_username_headers: tuple[str, ...] = flag(
        STRINGS, "The headers that hold the user's name.", check=checks.no_blanks
    )
    service_account_extend_token_expiration: bool = flag(
        BOOL,
        "Give tokens in pods a year, as a transition for clients that do not reload them.",
        default=True,
    )
    service_account_issuer: tuple[str, ...] = flag(
        STRING_ARRAY,
        "The issuer of service account tokens. When repeated, the first issues, all are accepted.",
    )
    service_account_jwks_uri: str = flag(
        STRING, "Where discovery says the keys are, when not at this server.", check=_jwks_uri
    )
    service_account_key_file: tuple[str, ...] = flag(
        STRING_ARRAY,
        "Keys that service account tokens are verified with. May be repeated. Unset, and without a signing key: the "
        "serving key.",
        check=checks.verification_keys,
    )
    service_account_lookup: bool = flag(BOOL, "Whether the token's service account must still exist.", default=True)
    service_account_max_token_expiration: float = flag(
        DURATION,
        "The longest life of a token, from 1h to 2^32 seconds. Longer requests are shortened to it. 0: no limit.",
        check=_max_expiration,
    )
    token_auth_file: str = flag(
        STRING,
        'A CSV file of tokens: token,user,uid and optionally groups, quoted when there are several ("a,b").',
        check=checks.readable,
    )

    def validate(self) -> list[str]:
        errors = _issuer_problems(self.service_account_issuer)
        if (
            self.client_ca_file
            and self.requestheader_client_ca_file
            and not self.requestheader_allowed_names
            and _overlap(self.client_ca_file, self.requestheader_client_ca_file)
        ):
            errors.append(
                "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; "
                "--requestheader-allowed-names must be specified to ensure regular client certificates cannot set "
                "authenticating proxy headers for arbitrary users"
            )
        return errors


def _overlap(one: str, other: str) -> bool:
    import ssl  # as in `checks`

    try:
        contexts = [ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) for _ in range(2)]
        for context, path in zip(contexts, (one, other), strict=True):
            context.load_verify_locations(cafile=path)
    except (OSError, ValueError):
        return False  # already reported by the flags' own checks
    first, second = (set(context.get_ca_certs(binary_form=True)) for context in contexts)
    return not first.isdisjoint(second)
