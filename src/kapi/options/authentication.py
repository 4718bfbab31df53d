"""Authentication flags: who a request comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kapi.api.objects import Object
from kapi.options import checks
from kapi.options.flag import Refused, flag
from kapi.options.kinds import BOOL, DURATION, STRING, STRING_ARRAY, STRINGS, WHOLE_PAIRS

if TYPE_CHECKING:
    from kapi.authn.configuration import AuthenticationConfig

_SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512")
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


def _signing_algorithms(values: tuple[str, ...]) -> str | None:
    unknown = next((value for value in values if value not in _SIGNING_ALGORITHMS), None)
    return None if unknown is None else f'oidc: unsupported signing alg: "{unknown}"'


def _webhook_version(value: str) -> str | None:
    if value in ("v1", "v1beta1"):
        return None
    return f'unsupported authentication webhook version "{value}", supported versions are "v1", "v1beta1"'


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
        "The file that configures JWT and anonymous authentication, read again when it changes. Not together with "
        "--oidc-* and, where it is about anonymous requests, --anonymous-auth.",
    )
    authentication_token_webhook_cache_ttl: float = flag(
        DURATION, "For how long the webhook's answers are kept.", default=120.0
    )
    authentication_token_webhook_config_file: str = flag(
        STRING, "The kubeconfig of the webhook that reviews tokens.", check=checks.readable
    )
    authentication_token_webhook_version: str = flag(
        STRING, "The version of TokenReview to send.", default="v1beta1", check=_webhook_version
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
    oidc_ca_file: str = flag(STRING, "The CA of the OpenID provider. Unset: the system's.", check=checks.certificates)
    oidc_client_id: str = flag(STRING, "The client ID that tokens must be for.")
    oidc_groups_claim: str = flag(STRING, "The claim that holds the user's groups.")
    oidc_groups_prefix: str = flag(STRING, "What to put in front of groups.")
    oidc_issuer_url: str = flag(STRING, "The URL of the OpenID provider.")
    oidc_required_claim: Mapping[str, str] = flag(WHOLE_PAIRS, "A claim that tokens must have: key=value.")
    oidc_signing_algs: tuple[str, ...] = flag(
        STRINGS, "The signing algorithms to accept.", default=("RS256",), check=_signing_algorithms
    )
    oidc_username_claim: str = flag(STRING, "The claim that holds the user's name.", default="sub")
    oidc_username_prefix: str = flag(
        STRING,
        "What to put in front of user names. Unset: the issuer's URL and #, unless the claim is email. -: nothing.",
    )
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

    def configuration_problems(self, given: frozenset[str]) -> list[str]:
        """What is wrong with the issuers of a file or the --oidc-* flags, or with having both."""
        has_flags = any(name.startswith("oidc-") for name in given)
        if self.authentication_config and has_flags:
            return ["authentication-config file and oidc-* flags are mutually exclusive"]
        if has_flags and not (self.oidc_issuer_url and self.oidc_client_id):
            return ["oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"]
        if not self.authentication_config and not has_flags:
            return []
        from kapi.codec.configuration import ConfigurationError  # only where there is one

        try:
            config = self.authentication()
        except ConfigurationError as error:
            return [str(error)]
        if config.anonymous is not None and "anonymous-auth" in given:
            return [
                "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in "
                "authentication configuration file"
            ]
        return []

    def authentication(self) -> AuthenticationConfig:
        """What the file says; without one, the --oidc-* flags. Raises ConfigurationError."""
        from kapi.authn.configuration import AuthenticationConfig, from_document, load

        if self.authentication_config:
            return load(Path(self.authentication_config), self.service_account_issuer)
        if not self.oidc_issuer_url or not self.oidc_client_id:
            return AuthenticationConfig()
        return AuthenticationConfig(jwt=(from_document(self._issuer(), self.service_account_issuer),))

    def _issuer(self) -> Object:
        """The flags as the file would say it."""
        issuer: Object = {"url": self.oidc_issuer_url, "audiences": [self.oidc_client_id]}
        if self.oidc_ca_file:
            issuer["certificateAuthority"] = Path(self.oidc_ca_file).read_text("utf-8", "replace")
        prefix = self.oidc_username_prefix
        if not prefix and self.oidc_username_claim != "email":
            prefix = f"{self.oidc_issuer_url}#"
        mappings: Object = {
            "username": {"claim": self.oidc_username_claim, "prefix": "" if prefix == "-" else prefix},
        }
        if self.oidc_groups_claim:
            mappings["groups"] = {"claim": self.oidc_groups_claim, "prefix": self.oidc_groups_prefix}
        rules = [{"claim": claim, "requiredValue": value} for claim, value in self.oidc_required_claim.items()]
        return {"issuer": issuer, "claimMappings": mappings, "claimValidationRules": rules}


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
