"""A web address, taken apart once: the host that is scored is the host that is connected to.

Two parsers that read one address differently are the classic way past a block list, so all of this
package goes through :func:`parse`, which refuses what parsers disagree on.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192
# RFC 1035, section 2.3.4; also bounds what the IDNA mapping has to read.
_LONGEST_HOST = 253
# Parsers disagree on a backslash, and strip or keep control characters as they like.
_DOUBTFUL = re.compile(r"[\x00-\x1f\x7f\\]")
_HOST = re.compile(r"([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
# WHATWG URL, "ends in a number": such a host is an IPv4 address in one of its many spellings, or
# nothing.
_NUMERIC = re.compile(r"(.*\.)?([0-9]+|0x[0-9a-f]*)")


@dataclass(frozen=True)
class Address:
    """``host``: lower case, IDNA A-labels, no trailing dot; ``target``: path and query,
    percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def url(self) -> str:
        """The address in its normal form, without fragment; one form for one page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"

    @property
    def is_ip(self) -> bool:
        """Whether the host is an IP address in any spelling (``127.1``, ``0x7f000001``, ``[::1]``)
        and no name.
        """
        return ":" in self.host or _NUMERIC.fullmatch(self.host) is not None

    @property
    def site(self) -> str:
        """Whom the host belongs to: its registrable domain, by the Public Suffix List.

        A name under no public suffix goes by its last two labels. What is no such name (an IP
        address, ``localhost``) may hold a site at each port.
        """
        from tld import get_fld

        if self.is_ip or "." not in self.host:
            return f"{self.host}:{self.port}"
        domain = get_fld(f"http://{self.host}/", fail_silently=True, search_private=True)
        return str(domain) if domain else ".".join(self.host.split(".")[-2:])

    def join(self, location: str) -> "Address | str":
        """Where a redirect to ``location`` leads; see :func:`parse`."""
        try:
            return parse(urljoin(self.url, location))
        except ValueError as e:
            return f"no address ({e})"


def parse(url: str) -> Address | str:
    """The address, or the reason why it is none that may be fetched."""
    url = url.strip(" ").replace(" ", "%20")
    if len(url) > _LONGEST or _DOUBTFUL.search(url):
        return f"longer than {_LONGEST} characters, or holds a control character or a backslash"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as e:
        return f"no address ({e})"
    if parts.scheme not in _PORTS or "@" in parts.netloc:
        return "neither http nor https, or with user information"
    host = _host(parts.hostname or "")
    if host is None:
        return "host is no name and no address"
    target = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~") + (
        f"?{_query(parts.query)}" if parts.query else ""
    )
    return Address(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)


def _query(text: str) -> str:
    return quote(text, safe="/%:@!$&'()*+,;=~?[]|{}^`")


def _host(text: str) -> str | None:
    """The host in its one normal form, or None."""
    if ":" in text:
        try:
            return (
                None if "%" in text else ipaddress.IPv6Address(text).compressed
            )  # a zone names a link of this machine
        except ValueError:
            return None
    if len(text) > _LONGEST_HOST:
        return None
    host = (text if text.isascii() else _a_labels(text)).lower().removesuffix(".")
    return host if len(host) <= _LONGEST_HOST and _HOST.fullmatch(host) else None


def _a_labels(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True).decode()
    except (idna.IDNAError, UnicodeError):
        return ""
