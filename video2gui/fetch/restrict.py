"""What a fetching process may not do, whatever the code in it was talked into. It cannot be taken back.

Python's audit hooks see each connection and each program before it starts, below yt-dlp and all its extractors,
redirects and name look-ups included. Only a process that ends after one video is restricted like this.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import Literal
from urllib.parse import urlsplit

from video2gui.fetch.kinds import PrivateHostError

#: `public`: addresses of the internet; `loopback`: these and this machine; `all`: private networks too.
Reach = Literal["public", "loopback", "all"]

_PROGRAM_EVENTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"})


def reach_of(url: str, *, allow_private_hosts: bool) -> Reach:
    """How far one fetch may reach: a server on this machine only if the row itself names it.

    So an address from a page, a redirect or a name server never leads inside.
    """
    if allow_private_hosts:
        return "all"
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    try:
        return "loopback" if ipaddress.ip_address(host).is_loopback else "public"
    except ValueError:
        return "public"


def is_allowed(address: str, reach: Reach) -> bool:
    """Whether a connection to this IP address is within reach."""
    if reach == "all":
        return True
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip.sixtofour or ip
    return (ip.is_global and not ip.is_multicast) or (reach == "loopback" and ip.is_loopback)


def restrict(reach: Reach, *, program: str | None, proxies: tuple[str, ...]) -> None:
    """Forbid this process, for good, to connect out of reach and to start programs other than `program`.

    The `proxies` (addresses with a port) are the user's own and always within reach.
    """
    through = frozenset(address for proxy in proxies for address in _addresses_of(proxy))

    def watch(event: str, args: tuple[object, ...]) -> None:
        if event == "socket.connect":
            _check_connection(args[1], reach, through)
        elif event in _PROGRAM_EVENTS and (program is None or os.path.basename(_text(args[0])) != program):
            raise PermissionError(f"fetching starts no program, not even {_text(args[0])}")

    sys.addaudithook(watch)


def _check_connection(address: object, reach: Reach, through: frozenset[tuple[str, int]]) -> None:
    if not (isinstance(address, tuple) and len(address) >= 2):
        raise PrivateHostError(f"{address!r} is not a public address")
    host, port = str(address[0]), address[1]
    if (host, port) not in through and not is_allowed(host, reach):
        raise PrivateHostError(f"{host} is not a public address")


def _addresses_of(proxy: str) -> set[tuple[str, int]]:
    parts = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    try:
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return set()  # no such proxy: the connection itself will say so
    return {(str(address[0]), port) for *_, address in found}


def _text(program: object) -> str:
    return program.decode("utf-8", "replace") if isinstance(program, bytes) else str(program)
