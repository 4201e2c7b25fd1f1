"""One request to a MediaWiki's API: its JSON, or what the failure says: worth another try,
hopeless, or about what was asked.

Faults come from two places with two faces: the edge in front of the wiki answers with a status and
HTML, the wiki itself with HTTP 200 and a JSON error, even for an overload (``maxlag``). Neither
says anything of a subject.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

from llmpedia.audit.settings import WikipediaSection
from llmpedia.errors import ConfigError, EngineError, TransientError
from llmpedia.http import retry_after

if TYPE_CHECKING:
    import httpx

Params = Mapping[str, str]

_REFUSED = frozenset({401, 403})
_NO_API = frozenset({404, 405, 410})
_RETRIED = frozenset({408, 409, 425, 429})
_TOO_MANY = 429
# Errors of MediaWiki that pass by themselves, by code
# (https://www.mediawiki.org/wiki/API:Errors_and_warnings).
_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error", "timeout")
_FORBIDDEN = ("readapidenied", "mwoauth", "assert", "blocked", "permissiondenied")
# Servers take about 8 KB of address; a longer query goes in the body.
_MAX_QUERY_BYTES = 4000


class ApiError(Exception):
    """The wiki did not take what was asked; asking the same again is of no use. ``code``: the
    wiki's, or ``http-STATUS``.
    """

    def __init__(self, code: str, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code


class Api:
    """Requests to one API over one pool of connections, for use in one event loop."""

    def __init__(self, url: str, user_agent: str, wiki: WikipediaSection) -> None:
        import httpx

        self._url = url
        self._wiki = wiki
        headers = {"User-Agent": user_agent, "Promise-Non-Write-API-Action": "true"}
        self._client = httpx.AsyncClient(headers=headers, timeout=wiki.timeout_s)

    async def query(self, params: Params) -> dict[str, Any]:
        """The answer to ``action=query``, one request.

        Raises:
            TransientError: worth another try.
            EngineError: the wiki refuses us altogether, or there is none.
            ApiError: it does not take these parameters.
        """
        common = {"action": "query", "format": "json", "formatversion": "2", "errorformat": "plaintext"}
        response = await self._send({**common, "maxlag": str(self._wiki.maxlag_s), **params})
        self._heed_status(response)
        data = _json(response)
        errors = data.get("errors") or [data[key] for key in ("error",) if key in data]
        if errors:
            self._raise(errors[0], response)
        return data

    async def close(self) -> None:
        """Let connections go."""
        await self._client.aclose()

    async def _send(self, params: Params) -> "httpx.Response":
        import httpx

        try:
            async with asyncio.timeout(self._wiki.timeout_s):  # httpx's own limit is for each read
                if len(urlencode(params)) > _MAX_QUERY_BYTES:
                    return await self._client.post(self._url, data=dict(params))
                return await self._client.get(self._url, params=dict(params))
        except TimeoutError as e:
            raise TransientError(f"{self._url}: no answer within {self._wiki.timeout_s} s") from e
        except httpx.HTTPError as e:
            raise TransientError(f"{self._url}: {type(e).__name__}: {e}") from e

    def _heed_status(self, response: "httpx.Response") -> None:
        status = response.status_code
        message = f"{self._url}: HTTP {response.status_code}: {_words(response.text)}"
        if status in _REFUSED:
            raise EngineError(
                f"{message}; set wikipedia.contact to a mail or web address of yours, and check "
                f"wikipedia.api_url"
            )
        if status in _NO_API or 300 <= status < 400:
            where = response.headers.get("Location")
            raise EngineError(
                f"{message}; set api_url to the wiki's api.php"
                + (f", which says it is at {where}" if where else "")
            )
        if status in _RETRIED or status >= 500:
            wait = retry_after(response.headers.get("Retry-After"))
            raise TransientError(message, wait, status == _TOO_MANY)
        if status >= 400:
            raise ApiError(f"http-{status}", _words(response.text))

    def _raise(self, error: Mapping[str, Any], response: "httpx.Response") -> NoReturn:
        code = str(error.get("code"))
        text = _words(str(error.get("text") or error.get("info")))
        if code.startswith(_PASSING):
            wait = retry_after(response.headers.get("Retry-After"))
            raise TransientError(f"{self._url}: {code}: {text}", wait, code == "ratelimited")
        if code.startswith(_FORBIDDEN):
            raise EngineError(
                f"{self._url}: {code}: {text}; not readable without an account; use another wikipedia.api_url"
            )
        raise ApiError(code, text)


def check_address(url: str, user_agent: str) -> None:
    """Refuse what no wiki could be asked with.

    Raises:
        ConfigError: ``api_url`` is no HTTP address, or ``user_agent`` names nobody who can be
        reached.
    """
    if not url.startswith(("http://", "https://")):
        raise ConfigError(
            f"api_url = {url!r}: must be the address of a wiki's api.php; begin it with https://"
        )
    if not ("@" in user_agent or "://" in user_agent):
        raise ConfigError(
            f"wikipedia.contact: {user_agent!r} does not tell how you can be reached; set it to a "
            f"mail or web address"
        )


def _json(response: "httpx.Response") -> dict[str, Any]:
    kind = response.headers.get("Content-Type")
    try:
        data = json.loads(response.content)
    except ValueError as e:
        raise TransientError(
            f"{response.url.host}: an answer that is no JSON ({kind}): {_words(response.text)}"
        ) from e
    if not isinstance(data, dict):
        raise TransientError(
            f"{response.url.host}: an answer that is no JSON object: {_words(response.text)}"
        )
    return data


def _words(text: str) -> str:
    """The beginning of a text, in one line."""
    return " ".join(text[:2000].split())[:200]
