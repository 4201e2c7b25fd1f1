"""``llmpedia browse``: runs as an encyclopedia in the browser of this machine."""

import argparse
import contextlib
import errno
import ipaddress
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from llmpedia.errors import EXIT_DONE, ConfigError
from llmpedia.optional_deps import need_extra

if TYPE_CHECKING:
    from llmpedia.site.review.store import Desk

_LOCAL = "127.0.0.1"
_LAST_PORT = 65_535


def add_browse(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The parser of ``llmpedia browse``."""
    browse = commands.add_parser(
        "browse", help="read runs as an encyclopedia in a web browser on this machine"
    )
    browse.add_argument("run_uris", metavar="RUN", nargs="+")
    browse.add_argument(
        "--port", type=int, default=8080, help="port on this machine (default: 8080; 0: any that is free)"
    )
    browse.add_argument(
        "--host", default=_LOCAL, help=f"address to listen on (default: {_LOCAL}, this machine alone)"
    )
    browse.add_argument(
        "--audit", action="append", default=[], metavar="NAME", help="show this audit only (default: all)"
    )
    browse.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="answer to this host name as well; else only localhost",
    )
    browse.add_argument(
        "--sheets", default="reviews", metavar="DIR", help="where sheets of a review lie (default: reviews)"
    )
    browse.add_argument(
        "--probe", action="append", default=[], metavar="BUILD", help="review this build of a probe as well"
    )
    browse.add_argument(
        "--allow-review",
        action="store_true",
        help="review, which writes sheets, also where others than this machine may ask",
    )
    browse.set_defaults(run=_browse)


def _browse(args: argparse.Namespace) -> int:
    need_extra("site")
    import uvicorn

    from llmpedia.site.app.app import create_app
    from llmpedia.site.app.middleware import LOCAL_HOSTS
    from llmpedia.site.data.run_reader import open_runs
    from llmpedia.site.search.search import RunSearch
    from llmpedia.store.run_folder import RunFolder

    for uri in args.run_uris:
        RunFolder.open(
            uri
        )  # in no time, where reading them takes some: a wrong path is told even where the port is taken
    with _listening(args.host, args.port) as listening:
        runs = open_runs(args.run_uris, args.audit)
        searches = {run.name: RunSearch(run) for run in runs}
        desk = _desk(args)
        app = create_app(runs, searches, LOCAL_HOSTS | {name.lower() for name in args.allow_host}, desk)
        for run in runs:
            print(f"{run.name}: {run.title}, {run.totals()['articles']:,} articles")
            for note in run.notes:
                print(f"note: {note}")
        host = f"[{args.host}]" if ":" in args.host else args.host
        address = f"http://{host}:{listening.getsockname()[1]}"
        if desk is None:
            print(
                "note: no review, as others than this machine may ask; --allow-review has it, and "
                "lets them write sheets"
            )
        else:
            for name in desk.probes:
                print(f"review of {name}: {address}/probe/{name}/review")
        print(f"{address}/ until Ctrl-C", flush=True)
        with contextlib.suppress(KeyboardInterrupt):  # the one way to end it
            uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
        for run in runs:
            searches[run.name].close()
            run.close()
    return EXIT_DONE


def _desk(args: argparse.Namespace) -> "Desk | None":
    """Where a review writes; None: it may not, as others can reach it.

    Raises:
        InputError: a build is none.
    """
    from llmpedia.site.data.run_reader import safe_names
    from llmpedia.site.review.store import Desk, open_builds

    if not args.allow_review and (args.allow_host or not _is_local(args.host)):
        return None
    if args.probe:
        need_extra("probe")
    return Desk.make(
        Path(args.sheets), open_builds(args.probe, safe_names([uri.rstrip("/") for uri in args.probe]))
    )


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host.lower() == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    """A socket on the port, before anything is opened.

    Raises:
        ConfigError: it cannot be had.
    """
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"--port {port}: must be 0 to {_LAST_PORT}; give another --port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.getaddrinfo(host, port, family)
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as e:
        if isinstance(e, socket.gaierror | UnicodeError) or e.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                f"--host {host}: is no address of this machine; give one, such as {_LOCAL}"
            ) from e
        raise ConfigError(
            f"--host {host} --port {port}: cannot be listened on ({e.strerror}); give another --port"
        ) from e
