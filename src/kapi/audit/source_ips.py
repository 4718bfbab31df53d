"""Where a request came from: what proxies say, and who is at the other end of the connection."""

from __future__ import annotations

from kapi.api.call import Request


def source_ips(request: Request) -> list[str]:
    """As upstream: those that X-Forwarded-For lists, X-Real-Ip unless it is among them, the peer unless it is last."""
    peer = request.connection.remote[0]
    forwarded, real = request.headers.get("x-forwarded-for"), request.headers.get("x-real-ip")
    if not forwarded and not real and ":" not in peer:
        return [peer]
    found = [ip for part in (forwarded or "").split(",") if (ip := _canonical(part.strip()))]
    named = _canonical(real or "")
    if named and named not in found:
        found.append(named)
    last = _canonical(peer)
    if last and last not in found[-1:]:
        found.append(last)
    return found


def _canonical(text: str) -> str:
    """As Go prints the address; empty when it is none."""
    from ipaddress import IPv6Address, ip_address  # only requests through proxies or IPv6 need it

    octets = text.split(".")
    if len(octets) == 4 and all(octet.isdecimal() for octet in octets):
        # Leading zeros are read as decimal, as upstream still does.
        text = ".".join(str(int(octet)) for octet in octets)
    try:
        address = ip_address(text.partition("%")[0] if ":" in text else text)
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)
