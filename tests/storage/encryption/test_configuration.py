"""The file: what is refused, and in which words."""

from __future__ import annotations

import asyncio

import pytest

from kapi.storage.encryption.configuration import ConfigurationError
from tests.storage.encryption.vault import Configuration, key, keyed

GOOD = keyed("aescbc", key("key1", "a"))
KMS = {"apiVersion": "v2", "name": "vault", "endpoint": "unix:///tmp/kms.sock"}
HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\n"


def refusal(configuration: Configuration, **how: bool) -> str:
    with pytest.raises(ConfigurationError) as raised:
        asyncio.run(configuration.start(**how))
    return str(raised.value)


def entry(*resources: str, providers: object = (GOOD,)) -> dict:
    return {"resources": list(resources), "providers": list(providers)}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "resources: Required value: at least one resources is required"),
        (
            [entry()],
            "resources[0].resources: Required value: at least one resources[0].resources is required",
        ),
        (
            [entry("secrets", providers=())],
            "resources[0].providers: Required value: at least one resources[0].providers is required",
        ),
        (
            [entry("Secrets")],
            'resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital letters',
        ),
        (
            [entry("*")],
            "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API "
            "group or *.* to encrypt all resources",
        ),
        (
            [entry("serviceipallocations")],
            'resources[0].resources[0]: Invalid value: "serviceipallocations": resources which do not have REST API/s '
            "cannot be encrypted",
        ),
        (
            [entry("events.events.k8s.io")],
            "resources[0].resources[0]: Invalid value: \"events.events.k8s.io\": '*.events.k8s.io' objects are stored "
            "using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        (
            [entry("*.extensions")],
            "resources[0].resources[0]: Invalid value: \"*.extensions\": 'extensions' group has been removed and "
            "cannot be used for encryption",
        ),
        (
            [entry("secrets.*")],
            'resources[0].resources[0]: Invalid value: "secrets.*": encrypting the same resource across groups is not '
            "supported",
        ),
        (
            [entry("secrets", "secrets")],
            'resources[0].resources: Invalid value: ["secrets","secrets"]: the same resource cannot be specified '
            "multiple times",
        ),
        (
            [entry("secrets", "*.")],
            'resources[0].resources: Invalid value: ["secrets","*."]: using overlapping resources such as \'secrets\' '
            "and '*.' in the same resource list is not allowed as they will be masked",
        ),
        (
            [entry("secrets", "*.*")],
            'resources[0].resources: Invalid value: ["secrets","*.*"]: using overlapping resources such as \'secrets\' '
            "and '*.' in the same resource list is not allowed as they will be masked",
        ),
    ],
)
def test_resources_are_checked(configuration, entries, message):
    configuration.write_entries(*entries)
    assert refusal(configuration) == f"error while parsing file: {message}"


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        (
            {},
            'resources[0].providers[0]: Invalid value: {"AESGCM":null,"AESCBC":null,"Secretbox":null,"Identity":null,'
            '"KMS":null}: provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, '
            "Identity",
        ),
        (
            {"identity": {}, **GOOD},
            'resources[0].providers[0]: Invalid value: {"AESGCM":null,"AESCBC":{},"Secretbox":null,"Identity":{},'
            '"KMS":null}: more than one provider specified in a single element, should split into different list '
            "elements",
        ),
        (
            keyed("aesgcm"),
            "resources[0].providers[0].aesgcm.keys: Required value: at least one keys is required",
        ),
        (
            keyed("secretbox", {"name": "", "secret": ""}),
            "[resources[0].providers[0].secretbox.keys[0].name: Required value: name is a mandatory field for a key, "
            "resources[0].providers[0].secretbox.keys[0].secret: Required value: secret is a mandatory field for a "
            "key]",
        ),
        (
            keyed("aescbc", {"name": "a", "secret": "???"}),
            'resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 '
            "encoded",
        ),
        (
            keyed("aescbc", key("a", "a", 20)),
            'resources[0].providers[0].aescbc.keys[0].secret: Invalid value: "REDACTED": secret is not of the expected '
            "length, got 20, expected one of [16 24 32]",
        ),
        (
            keyed("secretbox", key("a", "a", 16)),
            'resources[0].providers[0].secretbox.keys[0].secret: Invalid value: "REDACTED": secret is not of the '
            "expected length, got 16, expected one of [32]",
        ),
        (
            {"kms": KMS | {"name": ""}},
            "resources[0].providers[0].kms.name: Required value: name is a mandatory field for a provider",
        ),
        (
            {"kms": KMS | {"name": "a:b"}},
            'resources[0].providers[0].kms.name: Invalid value: "a:b": invalid KMS provider name a:b, must not contain '
            "':'",
        ),
        (
            {"kms": KMS | {"timeout": "0s"}},
            'resources[0].providers[0].kms.timeout: Invalid value: "0s": timeout should be a positive value',
        ),
        (
            {"kms": KMS | {"endpoint": ""}},
            'resources[0].providers[0].kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms',
        ),
        (
            {"kms": KMS | {"endpoint": "tcp://a"}},
            'resources[0].providers[0].kms.endpoint: Invalid value: "tcp://a": unsupported scheme "tcp" for KMS '
            "provider, only unix is supported",
        ),
        (
            {"kms": KMS | {"cachesize": 5}},
            "resources[0].providers[0].kms.cachesize: Invalid value: 5: cachesize is not supported in v2",
        ),
        (
            {"kms": KMS | {"apiVersion": "v1", "cachesize": 0}},
            "resources[0].providers[0].kms.cachesize: Invalid value: 0: cachesize should be a positive value, or "
            "negative to disable",
        ),
        (
            {"kms": KMS | {"apiVersion": "v3"}},
            'resources[0].providers[0].kms.apiVersion: Invalid value: "v3": unsupported apiVersion apiVersion for KMS '
            "provider, only v1 and v2 are supported",
        ),
    ],
)
def test_providers_are_checked_and_no_secret_is_shown(configuration, provider, message):
    configuration.write(provider)
    assert refusal(configuration) == f"error while parsing file: {message}"


def test_names_of_kms_providers_are_unique(configuration):
    configuration.write({"kms": KMS}, {"kms": KMS})
    assert refusal(configuration) == (
        'error while parsing file: resources[0].providers[1].kms.name: Invalid value: "vault": duplicate KMS provider '
        "name vault, names must be unique"
    )


def test_kms_v1_needs_its_gate(configuration):
    configuration.write({"kms": KMS | {"apiVersion": "v1"}})
    assert refusal(configuration) == (
        "error while building transformers: KMSv1 is deprecated and will only receive security updates going forward. "
        "Use KMSv2 instead.  Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("*.", "secrets", 'resource "secrets" is masked by earlier rule "*."'),
        ("*.apps", "deployments.apps", 'resource "deployments.apps" is masked by earlier rule "*.apps"'),
        ("*.*", "*.", 'resource "*." is masked by earlier rule "*.*"'),
    ],
)
def test_a_rule_behind_one_that_covers_it_is_refused(configuration, first, second, message):
    configuration.write_entries(entry(first), entry(second))
    assert refusal(configuration) == f"error while building transformers: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "resources: []\nother: 1\n", 'strict decoding error: unknown field "other"'),
        (
            HEAD + "resources: [{resources: [secrets], providers: [{identity: {deep: 1}}]}]\n",
            'strict decoding error: unknown field "resources[0].providers[0].identity.deep"',
        ),
        ("kind: EncryptionConfiguration\n", "Object 'apiVersion' is missing"),
        ("apiVersion: v1\n", "Object 'Kind' is missing"),
        (HEAD + "resources: text\n", "cannot unmarshal string into Go struct field"),
        (HEAD + "resources: [{resources: [1]}]\n", "cannot unmarshal number into Go struct field"),
        ("apiVersion: v1\nkind: ConfigMap\n", 'no kind "ConfigMap" is registered for version "v1"'),
        ("- 1\n", "it is no object"),
        ("a: [\n", "json parse error"),
        (HEAD + "resources: []\nresources: []\n", "strict decoding error: yaml: unmarshal errors:"),
    ],
)
def test_the_file_is_read_strictly(configuration, text, message):
    configuration.path.write_text(text)
    said = refusal(configuration)
    assert said.startswith("error while parsing file: error decoding encryption provider configuration file ")
    assert message in said


def test_a_missing_and_an_empty_file_are_told_apart(configuration):
    assert "no such file or directory" in refusal(configuration)
    configuration.path.write_text("")
    assert refusal(configuration).endswith("is empty")


def test_the_most_particular_rule_counts(configuration):
    from kapi.api.gvk import GroupResource

    configuration.write_entries(
        entry("secrets", providers=[keyed("aescbc", key("one", "a"))]),
        entry("*.", providers=[keyed("aescbc", key("core", "a"))]),
        entry("*.apps", providers=[keyed("aescbc", key("apps", "a"))]),
        entry("*.*", providers=[keyed("aescbc", key("all", "a"))]),
    )

    async def scenario() -> None:
        encryption = await configuration.start()
        for resource, name in (("secrets", "one"), ("pods", "core"), ("deployments.apps", "apps"), ("a.b", "all")):
            plural, _, group = resource.partition(".")
            stored = await encryption.transformer(GroupResource(group, plural)).to_storage(b"x", b"/key")
            assert stored.startswith(f"k8s:enc:aescbc:v1:{name}:".encode())

    asyncio.run(scenario())
