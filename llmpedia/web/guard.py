"""Where a fetch may go: to public addresses on the web's own ports, and to exactly the address that
was checked.

A check of a name is worth nothing if the client resolves it again (DNS rebinding), so the guard
sits where connections are
made: :class:`PinnedBackend` resolves once, checks every answer and connects to a checked one. TLS
still verifies the name.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llmpedia.web.address import Address

if TYPE_CHECKING:
    import httpcore

IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Host and port -> IP addresses; raises ``socket.gaierror``."""

# IANA's registries of special-purpose addresses (RFC 6890), written out: what `is_global` knows
# differs between Python versions. 168.63.129.16 is Azure's metadata and health service at a
# public-looking address.
_CLOSED_4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
    192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24
    198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"""
# Only 2000::/3 is given out to the Internet; in it: protocol assignments and Teredo, documentation,
# 6to4.
_OPEN_6 = "2000::/3"
_CLOSED_6 = "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_closed = [ipaddress.ip_network(n) for n in f"{_CLOSED_4} {_CLOSED_6}".split()]
_open_6 = ipaddress.IPv6Network(_OPEN_6)

# A name may have many addresses that all swallow packets; two families with a spare each are
# enough.
_MOST_ADDRESSES = 4
# Lookups cannot be cancelled: threads of their own keep stalled ones from starving the rest of the
# process.
_LOOKUPS = 32


class ForbiddenAddressError(Exception):
    """The guard refused to connect; the message says to what and why."""


@dataclass(frozen=True)
class Policy:
    """What is allowed beyond the public web: for tests and for a rehearsal on this machine.

    ``allowed_networks``: networks that may be reached though they are not public, and by IP
    address.
    ``allowed_ports``: ports besides 80 and 443.
    """

    allowed_networks: tuple[Network, ...] = ()
    allowed_ports: frozenset[int] = frozenset()

    def refusal(self, address: Address) -> str | None:
        """Why a request for an address may not even be tried, or None."""
        if address.port not in self.allowed_ports | {80, 443}:
            return f"port {address.port} is neither 80 nor 443"
        return "an IP address and no name" if address.is_ip and not self._listed(address.host) else None

    def permits(self, ip: str) -> bool:
        """Whether a connection to an IP address may be made."""
        try:
            address = ipaddress.ip_address(ip)
        except ValueError:
            return False
        return self._listed(ip) or is_public(address)

    def _listed(self, ip: str) -> bool:
        try:
            address = ipaddress.ip_address(ip)
        except ValueError:
            return False
        return any(
            address in network for network in self.allowed_networks if network.version == address.version
        )


def is_public(ip: IP) -> bool:
    """Whether an address belongs to the public Internet; one that embeds an IPv4 address is judged
    by that.
    """
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(ip.ipv4_mapped)
        if ip in _NAT64:
            return is_public(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF))
        if ip.scope_id is not None or ip not in _open_6:
            return False
    return (
        ip.is_global and not ip.is_multicast and not any(ip in n for n in _closed if n.version == ip.version)
    )


class HostResolver:
    """The system's name lookup, in threads of its own."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="lookup")

    async def __call__(self, host: str, port: int) -> list[str]:
        """IP addresses of a host, in the system's order.

        Raises:
            socket.gaierror: it has none, or the lookup failed.
        """
        run = asyncio.get_running_loop().run_in_executor
        infos = await run(self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        return list(dict.fromkeys(str(entry[4][0]) for entry in infos))

    def close(self) -> None:
        """Let the threads go; a stalled lookup ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def pinned_backend(policy: Policy, resolve: Resolve) -> "httpcore.AsyncNetworkBackend":
    """A network backend for httpcore that connects to checked addresses only.

    Its ``connect_tcp`` raises :class:`ForbiddenAddressError` where *any* of a name's addresses may
    not be reached: public and private answers together are what a rebinding attack looks like.
    """
    import httpcore

    class PinnedBackend(httpcore.AsyncNetworkBackend):
        def __init__(self) -> None:
            self._inner = httpcore.AnyIOBackend()

        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> httpcore.AsyncNetworkStream:
            addresses = await resolve(host, port)
            refused = [a for a in addresses if not policy.permits(a)]
            if refused or not addresses:
                raise ForbiddenAddressError(f"{host} leads to {', '.join(refused[:3]) or 'no address'}")
            failure: Exception | None = None
            for address in addresses[:_MOST_ADDRESSES]:
                try:
                    return await self._inner.connect_tcp(
                        address, port, timeout, local_address, socket_options
                    )
                except (httpcore.ConnectError, httpcore.ConnectTimeout) as e:
                    failure = e
            assert failure is not None  # there was at least one address
            raise failure

        async def connect_unix_socket(
            self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
        ) -> httpcore.AsyncNetworkStream:
            raise ForbiddenAddressError(f"unix socket {path}")

        async def sleep(self, seconds: float) -> None:
            await self._inner.sleep(seconds)

    return PinnedBackend()
