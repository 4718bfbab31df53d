"""Keys of JSON Web Tokens: read from PEM files, told as a JSON Web Key Set, used to sign and to verify.

A key decides which algorithms it is used with; what a token's header says must be one of them. So a token cannot have
itself verified by a weaker algorithm, or with a public key taken for a shared secret.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.x509 import load_pem_x509_certificate

from kapi.authn.jwt import b64

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.+?-----END \1-----", re.DOTALL)
_HASHES: dict[str, hashes.HashAlgorithm] = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_RSA_ALGORITHMS = frozenset(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"))
_CURVES = {
    "secp256r1": ("ES256", "P-256", 32),
    "secp384r1": ("ES384", "P-384", 48),
    "secp521r1": ("ES512", "P-521", 66),
}
_JWK_CURVES: dict[str, type[ec.EllipticCurve]] = {
    "P-256": ec.SECP256R1,
    "P-384": ec.SECP384R1,
    "P-521": ec.SECP521R1,
}


class KeyFileError(Exception):
    """A key file cannot be used; the message says why."""


class PublicKey:
    """`id` is that of upstream: the hash of the key itself."""

    def __init__(self, key: rsa.RSAPublicKey | ec.EllipticCurvePublicKey) -> None:
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.id = b64(sha256(der).digest())
        self._key = key
        if isinstance(key, rsa.RSAPublicKey):
            self.algorithm = "RS256"
        elif key.curve.name in _CURVES:
            self.algorithm, self._curve, self._size = _CURVES[key.curve.name]
        else:
            raise KeyFileError(f"unsupported elliptic curve {key.curve.name}")

    def verify(self, algorithm: str, signed: bytes, signature: bytes) -> bool:
        try:
            if isinstance(self._key, rsa.RSAPublicKey):
                if algorithm not in _RSA_ALGORITHMS:
                    return False
                digest = _HASHES[algorithm[2:]]
                self._key.verify(signature, signed, _rsa_padding(algorithm, digest), digest)
            else:
                if algorithm != self.algorithm or len(signature) != 2 * self._size:
                    return False
                r, s = (int.from_bytes(part, "big") for part in (signature[: self._size], signature[self._size :]))
                self._key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(_HASHES[algorithm[2:]]))
        except InvalidSignature:
            return False
        return True

    @property
    def jwk(self) -> dict[str, str]:
        head = {"use": "sig", "kty": "RSA", "kid": self.id, "alg": self.algorithm}
        if isinstance(self._key, rsa.RSAPublicKey):
            numbers = self._key.public_numbers()
            return {**head, "n": b64(_octets(numbers.n)), "e": b64(_octets(numbers.e))}
        point = self._key.public_numbers()
        head |= {"kty": "EC", "crv": self._curve}
        return {**head, "x": b64(point.x.to_bytes(self._size, "big")), "y": b64(point.y.to_bytes(self._size, "big"))}


class SigningKey:
    def __init__(self, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> None:
        self.private = key
        self.public = PublicKey(key.public_key())
        self.id, self.algorithm = self.public.id, self.public.algorithm

    @classmethod
    def load(cls, path: Path) -> SigningKey:
        for kind, block in _blocks(path):
            if kind.endswith(b"PRIVATE KEY"):
                key = _private(path, block)
                return cls(key)
        raise KeyFileError(f"{path} holds no private key")

    def sign(self, data: bytes) -> bytes:
        digest = _HASHES[self.algorithm[2:]]
        if isinstance(self.private, rsa.RSAPrivateKey):
            return self.private.sign(data, padding.PKCS1v15(), digest)
        r, s = decode_dss_signature(self.private.sign(data, ec.ECDSA(digest)))
        size = (self.private.curve.key_size + 7) // 8
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def load_public_keys(path: Path) -> list[PublicKey]:
    """Of all keys and certificates in the file, private ones included."""
    keys = [key for kind, block in _blocks(path) if (key := _public(path, kind, block)) is not None]
    if not keys:
        raise KeyFileError(f"error parsing public key file {path}: data does not contain any valid RSA or ECDSA keys")
    return keys


def _blocks(path: Path) -> list[tuple[bytes, bytes]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"error reading {path}: {error.strerror or error}") from error
    return [(match[1], match[0]) for match in _BLOCK.finditer(content)]


def _public(path: Path, kind: bytes, block: bytes) -> PublicKey | None:
    try:
        if kind.endswith(b"PRIVATE KEY"):
            return PublicKey(_private(path, block).public_key())
        key: object
        if kind == b"CERTIFICATE":
            key = load_pem_x509_certificate(block).public_key()
        elif kind.endswith(b"PUBLIC KEY"):
            key = serialization.load_pem_public_key(block)
        else:
            return None
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"error parsing {path}: {error}") from error
    if not isinstance(key, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)):
        return None
    return PublicKey(key)


def _private(path: Path, block: bytes) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(block, None)
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"error parsing {path}: {error}") from error
    if not isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey)):
        raise KeyFileError(f"the key in {path} is neither RSA nor ECDSA")
    return key


def _rsa_padding(algorithm: str, digest: hashes.HashAlgorithm) -> padding.PKCS1v15 | padding.PSS:
    if algorithm.startswith("RS"):
        return padding.PKCS1v15()
    return padding.PSS(mgf=padding.MGF1(digest), salt_length=padding.PSS.AUTO)


def public_key_of(jwk: Mapping[str, Any]) -> PublicKey | None:
    """The key of a JSON Web Key, by the name it has there; None for kinds that are not used here, or a broken one."""
    try:
        key = _public_numbers(jwk)
        found = PublicKey(key.public_key()) if key is not None else None
    except (KeyError, ValueError, TypeError, KeyFileError):
        return None
    if found is not None:
        id = jwk.get("kid")
        found.id = id if isinstance(id, str) else ""
    return found


def _public_numbers(jwk: Mapping[str, Any]) -> rsa.RSAPublicNumbers | ec.EllipticCurvePublicNumbers | None:
    if jwk.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(e=_number(jwk["e"]), n=_number(jwk["n"]))
    if jwk.get("kty") == "EC":
        return ec.EllipticCurvePublicNumbers(_number(jwk["x"]), _number(jwk["y"]), _JWK_CURVES[jwk["crv"]]())
    return None


def _number(text: str) -> int:
    return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)), "big")


def _octets(number: int) -> bytes:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")
