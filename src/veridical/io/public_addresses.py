"""Detection of public internet addresses.

Addresses in foreign text must not lead to this machine, its network or its cloud services.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable

#: Resolver of host names: ``(host, port) -> addresses``.
Resolve = Callable[[str, int], Awaitable[list[str]]]
#: Ports of the web. Services on other ports may interpret a line of HTTP differently.
PORTS = (80, 443)
#: Special-purpose networks (IANA's registries) that not every version of Python knows.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20", "5f00::/16", "64:ff9b:1::/48"),
    )
)
#: IPv6 networks whose addresses embed an IPv4 address in their last bits (RFC 6052, RFC 4291).
_HOLDING = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses that this machine resolves for ``host``, in the order to try.

    Raises:
        OSError: there are no addresses.
        UnicodeError: the name is invalid.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def is_public(address: str, port: int = 443) -> bool:
    """Return True if ``address`` is public and ``port`` is a web port.

    Private, loopback, link-local (cloud metadata), shared, reserved and multicast addresses are not
    public, also when an IPv4 address is embedded in an IPv6 address.

    >>> is_public("93.184.216.34"), is_public("::ffff:169.254.169.254")
    (True, False)
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:  # with a zone, or not an address
        return False
    if port not in PORTS:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.sixtofour is not None or ip.teredo is not None or ip.is_site_local:
            return False
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped), port)
        if any(ip in network for network in _HOLDING):
            held = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
            return int(ip) >> 32 != 0 and is_public(str(held), port)
    if any(ip in network for network in _SPECIAL):
        return False
    return ip.is_global and not (
        ip.is_private
        or ip.is_loopback
        or ip.is_link_local
        or ip.is_multicast
        or ip.is_reserved
        or ip.is_unspecified
    )
