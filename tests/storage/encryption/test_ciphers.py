"""The formats, byte for byte: published vectors, and values put together from the primitives alone."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from struct import pack, unpack

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from kapi.storage.encryption.aes import GCM, CBCMode, ExtendedNonceGCM, GCMOrCBC
from kapi.storage.encryption.salsa20 import hsalsa20, xsalsa20_stream
from kapi.storage.encryption.secretbox import Secretbox, seal, unseal
from kapi.storage.encryption.transformer import TransformError

KEY = bytes(range(32))
PLACE = b"/registry/secrets/default/a"
SIZES = (0, 1, 15, 16, 17, 1000, 70_000)
CIPHERS = [GCM(KEY), CBCMode(KEY), ExtendedNonceGCM(KEY), GCMOrCBC(KEY), Secretbox(KEY)]

# NaCl's tests: core1, core2 and secretbox.
SHARED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
FIRST_KEY = bytes.fromhex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389")
NONCE = bytes.fromhex("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
SECOND_KEY = bytes.fromhex("dc908dda0b9344a953629b733820778880f3ceb421bb61b91cbd4c3e66256ce4")
MESSAGE = bytes.fromhex(
    "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f4"
    "1db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52"
    "f0a089bc76897040e082f937763848645e0705"
)
BOX = bytes.fromhex(
    "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b"
    "4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da"
    "99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"
)


def write(transformer, data: bytes) -> bytes:
    return asyncio.run(transformer.to_storage(data, PLACE))


def test_hsalsa20_derives_nacls_keys():
    assert hsalsa20(SHARED, bytes(16)) == FIRST_KEY
    assert hsalsa20(FIRST_KEY, NONCE[:16]) == SECOND_KEY


def test_secretbox_seals_and_opens_nacls_box():
    assert seal(FIRST_KEY, NONCE, MESSAGE) == BOX
    assert unseal(FIRST_KEY, NONCE, BOX) == MESSAGE


def test_the_key_stream_goes_on_over_many_blocks_as_block_by_block():
    stream = xsalsa20_stream(FIRST_KEY, NONCE, 64 * 2050 + 7)
    assert len(stream) == 64 * 2050 + 7
    for block in (0, 1, 1023, 1024, 2048, 2049):
        assert stream[64 * block : 64 * block + 64] == salsa20_block(SECOND_KEY, NONCE[16:], block)


def salsa20_block(key: bytes, nonce: bytes, counter: int) -> bytes:
    """The specification, word by word."""

    def turned(x: int, by: int) -> int:
        return ((x << by) | (x >> (32 - by))) & 0xFFFFFFFF

    s, k = unpack("<4I", b"expand 32-byte k"), unpack("<8I", key)
    start = [s[0], *k[:4], s[1], *unpack("<2I", nonce), *unpack("<2I", pack("<Q", counter)), s[2], *k[4:], s[3]]
    x = list(start)
    for _ in range(10):
        for quarters in (
            ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11)),
            ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14)),
        ):
            for a, b, c, d in quarters:
                x[b] ^= turned((x[a] + x[d]) & 0xFFFFFFFF, 7)
                x[c] ^= turned((x[b] + x[a]) & 0xFFFFFFFF, 9)
                x[d] ^= turned((x[c] + x[b]) & 0xFFFFFFFF, 13)
                x[a] ^= turned((x[d] + x[c]) & 0xFFFFFFFF, 18)
    return pack("<16I", *((one + other) & 0xFFFFFFFF for one, other in zip(x, start, strict=True)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("cipher", CIPHERS, ids=lambda c: type(c).__name__)
def test_what_is_written_is_read(cipher, size):
    data = bytes(i % 251 for i in range(size))
    stored = write(cipher, data)
    assert cipher.from_storage(stored, PLACE) == (data, False)
    assert size < 15 or data not in stored
    assert write(cipher, data) != stored, "no two writes look alike"


@pytest.mark.parametrize("cipher", [GCM(KEY), ExtendedNonceGCM(KEY)], ids=lambda c: type(c).__name__)
def test_a_value_moved_to_another_key_is_not_read(cipher):
    with pytest.raises(TransformError, match="cipher: message authentication failed"):
        cipher.from_storage(write(cipher, b"hidden"), b"/registry/secrets/default/b")


@pytest.mark.parametrize("cipher", [GCM(KEY), ExtendedNonceGCM(KEY), Secretbox(KEY)], ids=lambda c: type(c).__name__)
def test_no_byte_of_an_authenticated_value_can_be_changed(cipher):
    stored = write(cipher, b"hidden")
    for position in range(len(stored)):
        changed = bytearray(stored)
        changed[position] ^= 1
        with pytest.raises(TransformError):
            cipher.from_storage(bytes(changed), PLACE)


@pytest.mark.parametrize("cipher", CIPHERS, ids=lambda c: type(c).__name__)
def test_a_value_that_was_cut_off_is_refused_not_an_accident(cipher):
    stored = write(cipher, b"a value of two blocks of bytes!!")
    for length in range(len(stored)):
        with pytest.raises(TransformError):
            cipher.from_storage(stored[:length], PLACE)


def test_gcm_is_nonce_ciphertext_and_tag_with_the_place_authenticated():
    nonce = b"n" * 12
    assert GCM(KEY).from_storage(nonce + AESGCM(KEY).encrypt(nonce, b"hidden", PLACE), PLACE) == (b"hidden", False)


def test_cbc_is_a_vector_and_blocks_padded_as_pkcs7():
    vector = b"v" * 16
    encryptor = Cipher(AES(KEY), CBC(vector)).encryptor()
    stored = vector + encryptor.update(b"hidden" + b"\x0a" * 10) + encryptor.finalize()
    assert CBCMode(KEY).from_storage(stored, PLACE) == (b"hidden", False)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        (b"no padding here" + b"\x00", "invalid PKCS7 data (empty or not padded)"),
        (b"too much of it!" + b"\x11", "invalid PKCS7 data (empty or not padded)"),
        (b"not all the sam" + b"\x02", "invalid padding on input"),
    ],
)
def test_cbc_says_what_is_wrong_with_the_padding(plain, message):
    vector = b"v" * 16
    encryptor = Cipher(AES(KEY), CBC(vector)).encryptor()
    with pytest.raises(TransformError) as raised:
        CBCMode(KEY).from_storage(vector + encryptor.update(plain) + encryptor.finalize(), PLACE)
    assert str(raised.value) == message


def test_the_extended_nonce_is_the_info_of_hkdf_expand():
    seed, info, nonce = b"s" * 32, b"i" * 32, b"n" * 12
    key = hmac.new(seed, info + b"\x01", hashlib.sha256).digest()
    stored = info + nonce + AESGCM(key).encrypt(nonce, b"hidden", PLACE)
    assert ExtendedNonceGCM(seed).from_storage(stored, PLACE) == (b"hidden", False)


def test_a_seed_must_have_32_bytes():
    with pytest.raises(TransformError, match="invalid seed length 31 used for key generation"):
        ExtendedNonceGCM(b"s" * 31)


def test_what_kms_v1_once_wrote_with_cbc_is_read_and_stale():
    assert GCMOrCBC(KEY).from_storage(write(CBCMode(KEY), b"hidden"), PLACE) == (b"hidden", True)
