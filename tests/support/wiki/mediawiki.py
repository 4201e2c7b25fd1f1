"""A real MediaWiki on loopback: Debian's package under ``php -S`` with SQLite, nothing installed
and nothing outside two folders.

The packages (41 MB) are downloaded once and unpacked under ``$LLMPEDIA_CACHE/mediawiki``; every
wiki has its own database.
"""

import fcntl
import html
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml

from tests.support.harness import free_port, wait_for

FILES = Path(__file__).parent / "mediawiki_files"
CACHE = Path(os.environ.get("LLMPEDIA_CACHE") or Path.home() / ".cache" / "llmpedia") / "mediawiki"
PHP = ["php-cli", "php-sqlite3", "php-mbstring", "php-xml", "php-intl"]
# In the order in which they need one another.
MODULES = (
    "ctype fileinfo iconv intl mbstring pdo pdo_sqlite sqlite3 posix tokenizer xml dom "
    "simplexml xmlreader xmlwriter"
).split()
# Debian's installer leaves these two of Wikipedia's prefixes out.
INTERWIKI = (
    "INSERT INTO interwiki (iw_prefix, iw_url, iw_api, iw_wikiid, iw_local, iw_trans) VALUES "
    "('de', 'https://de.example.org/wiki/$1', '', '', 1, 0), ('meta', "
    "'https://meta.example.org/wiki/$1', '', '', 1, 0)"
)
# The Disambiguator extension of Wikipedia is no part of Debian's package; this row is what it
# writes.
DISAMBIGUATION = (
    "INSERT INTO page_props SELECT page_id, 'disambiguation', '', NULL FROM page WHERE page_title = 'Mercury'"
)


class Wiki:
    """A running wiki; ``url`` and ``fault(NAME)`` are addresses of its API."""

    def __init__(self, folder: Path) -> None:
        self._root = unpacked()
        self._folder = folder
        self._port = free_port()
        self.base = f"http://127.0.0.1:{self._port}"
        self.url = f"{self.base}/api.php"
        self._install()
        self._fill()
        self._serve()

    def fault(self, name) -> str:
        return f"{self.base}/fault/{name}/api.php"

    def close(self) -> None:
        # With several workers a plain kill leaves them behind.
        os.killpg(self._server.pid, signal.SIGTERM)
        self._server.wait(10)

    def _install(self) -> None:
        database = ["--dbtype", "sqlite", "--dbpath", self._folder, "--dbname", "wiki"]
        where = ["--server", self.base, "--scriptpath", "", "--confpath", self._folder]
        self._script("install.php", *database, *where, "--pass", "only-on-loopback-1", "Test wiki", "admin")
        with (self._folder / "LocalSettings.php").open("a") as settings:
            settings.write((FILES / "settings.php").read_text().removeprefix("<?php"))

    def _fill(self) -> None:
        self._script("sql.php", "--query", INTERWIKI)
        (self._folder / "pages.xml").write_text(export(yaml.safe_load((FILES / "pages.yaml").read_text())))
        self._script("importDump.php", "--no-updates", self._folder / "pages.xml")
        self._script("sql.php", "--query", DISAMBIGUATION)

    def _script(self, name, *arguments) -> None:
        command = [*php(self._root), f"{self._root}/wiki/maintenance/{name}", *map(str, arguments)]
        done = subprocess.run(
            command, env=self._env(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    def _env(self) -> dict:
        settings = self._folder / "LocalSettings.php"
        return {**php_env(self._root), **({"MW_CONFIG_FILE": str(settings)} if settings.exists() else {})}

    def _serve(self) -> None:
        command = [
            *php(self._root),
            "-S",
            f"127.0.0.1:{self._port}",
            "-t",
            f"{self._root}/wiki",
            str(FILES / "router.php"),
        ]
        env = {**self._env(), "PHP_CLI_SERVER_WORKERS": "2"}
        with (self._folder / "server.log").open("w") as log:
            self._server = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(self._port)
        except TimeoutError:
            self.close()
            raise


def export(pages: dict) -> str:
    """Pages in MediaWiki's own export format."""
    page = (
        "<page><title>{}</title><ns>{}</ns><id>{}</id><revision><id>{}</id><timestamp>2025-01-01T00:00:00Z</timestamp>"
        "<contributor><username>Importer</username><id>1</id></contributor><model>wikitext</model><format>text/x-wiki</format>"
        '<text xml:space="preserve">{}</text></revision></page>'
    )
    rows = [
        page.format(html.escape(title), 4 if title.startswith("Project:") else 0, i, i, html.escape(text))
        for i, (title, text) in enumerate(pages.items(), 1)
    ]
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
    return "\n".join([head, *rows, "</mediawiki>\n"])


def php(root: Path) -> list:
    own = sorted((root / "system/usr/bin").glob("php[0-9].[0-9]"))
    return [str(own[0]), "-c", f"{root}/php.ini"] if own else ["php"]


def php_env(root: Path) -> dict:
    """The unpacked PHP reads no settings of the machine, and its own libraries before the
    machine's.
    """
    libraries = [str(p) for p in (root / "system").glob("**/*-linux-gnu")]
    own = (
        {"PHP_INI_SCAN_DIR": "", "LD_LIBRARY_PATH": ":".join(libraries)}
        if (root / "php.ini").exists()
        else {}
    )
    return {**os.environ, **own}


def unpacked() -> Path:
    """The folder with ``system`` (PHP) and ``wiki`` (MediaWiki); made on first use, by one process
    at a time.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (CACHE / "ready").is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                make(Path(folder) / "ready")
                (Path(folder) / "ready").rename(CACHE / "ready")
            write_ini(CACHE / "ready")
    return CACHE / "ready"


def make(root: Path) -> None:
    debs = root / "debs"
    debs.mkdir(parents=True)
    download(debs)
    for deb in debs.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", deb, root / "system"], check=True)
    shutil.rmtree(debs)
    wiki = root / "wiki"
    (root / "system/usr/share/mediawiki").rename(wiki)
    for link in [p for p in wiki.rglob("*") if p.is_symlink() and os.readlink(p).startswith("/")]:
        link.unlink()  # to /var/lib and /etc, where nothing is installed
    (wiki / "extensions-core").rename(wiki / "extensions")
    (wiki / "images").mkdir()


def download(folder: Path) -> None:
    """MediaWiki, and whatever PHP needs that this machine lacks; skips the test where Debian's
    packages cannot be had.
    """
    if shutil.which("apt-get") is None:
        pytest.skip("a real MediaWiki needs Debian's packages, and there is no apt-get here")
    failure = fetch(folder)
    if failure and os.geteuid() == 0:  # no list of packages yet, or an old one
        apt(folder, "update")
        failure = fetch(folder)
    if failure:
        pytest.skip(f"Debian's packages of MediaWiki and PHP cannot be had: {failure.strip()[-300:]}")


def fetch(folder: Path) -> str:
    """Download the packages; what went wrong, or nothing."""
    needed = apt(folder, "install", "--print-uris", "-y", "--no-install-recommends", *PHP)
    names = [line.split()[1].partition("_")[0] for line in needed.stdout.splitlines() if line.startswith("'")]
    done = apt(folder, "download", "mediawiki", "mediawiki-classes", *names)
    return needed.stderr + done.stderr if needed.returncode or done.returncode else ""


def apt(folder: Path, *arguments) -> subprocess.CompletedProcess:
    command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def write_ini(root: Path) -> None:
    """Settings that load the unpacked modules; none where the machine's own PHP is used."""
    modules = {p.stem: p for p in (root / "system/usr/lib/php").glob("*/*.so")}
    if modules:
        folder = next(iter(modules.values())).parent
        lines = [
            f"extension_dir={folder}",
            *(f"extension={m}" for m in MODULES if m in modules),
            "memory_limit=256M",
        ]
        (root / "php.ini").write_text("\n".join(lines) + "\n")
