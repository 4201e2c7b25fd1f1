"""HTTP as every client of this package speaks it: one session a base URL, pauses that are asked
for, errors that say whether another try is worth it.
"""

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from llmpedia.errors import ConfigError, EngineError, TransientError

MAX_PAUSE_S = 600.0
"""Longest pause that a server is granted, in seconds."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# Says nothing about the one request: every other would get the same.
_REFUSED = frozenset({401, 403, 404})
_RETRIED = frozenset({408, 409, 425, 429})
_TOO_MANY = 429

# Told of the seconds in which the endpoint wants no new request.
OnPause = Callable[[float], None]


class Endpoint:
    """One HTTP session to one base URL; opened on first use, in the loop that uses it."""

    def __init__(self, base_url: str, api_key_env: str | None, timeout_s: float) -> None:
        self._base = base_url.rstrip("/")
        self._headers = authorization(api_key_env)
        self._timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=30)
        self._session: aiohttp.ClientSession | None = None
        self.on_pause: OnPause | None = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, JSON) of an answer that is final: 2xx, or a 4xx that no retry would mend.

        Raises:
            TransientError: anything else.
            EngineError: the endpoint refuses us altogether.
        """
        try:
            async with self._open().post(f"{self._base}/{path}", json=body) as response:
                self._heed(response)
                data = _json(await response.read(), response.status)
                data = data if isinstance(data, dict) else {"value": data}
                if response.status in _REFUSED:
                    message = f"HTTP {response.status}: {error_message(data)}"
                    raise EngineError(
                        f"{self._base}/{path}: {message}; check base_url, model and api_key_env"
                    )
                return response.status, data
        except (aiohttp.ClientError, TimeoutError, ValueError) as e:
            raise TransientError(f"{type(e).__name__}: {e}") from e

    async def fetch(self, method: str, path: str, **what: Any) -> tuple[int, bytes]:
        """(status, content) of an answer that is final, refusals among them; ``what``: as aiohttp's
        ``request`` takes it.

        Raises:
            TransientError: anything else.
        """
        try:
            async with self._open().request(method, f"{self._base}/{path}", **what) as response:
                self._heed(response)
                return response.status, await response.read()
        except (aiohttp.ClientError, TimeoutError) as e:
            raise TransientError(f"{type(e).__name__}: {e}") from e

    def _heed(self, response: aiohttp.ClientResponse) -> None:
        """Pass on the pause that the headers ask for; a status worth another try is raised."""
        pause = pause_of(response.headers)
        if pause > 0 and self.on_pause is not None:
            self.on_pause(pause)
        if response.status in _RETRIED or response.status >= 500:
            wait = retry_after(response.headers.get("Retry-After"))
            raise TransientError(f"HTTP {response.status}", wait, response.status == _TOO_MANY)

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(
                timeout=self._timeout, headers=self._headers, connector=connector
            )
        return self._session

    async def close(self) -> None:
        """Let the session go; the next request opens another."""
        if self._session is not None:
            session = self._session
            self._session = None
            await session.close()


def authorization(api_key_env: str | None) -> dict[str, str]:
    """The header that holds a key.

    Raises:
        ConfigError: there is none in the environment.
    """
    if api_key_env is None:
        return {}
    key = os.environ.get(api_key_env)
    if not key:
        raise ConfigError(
            f"api_key_env = {api_key_env!r}: this environment variable is not set; set it to the "
            f"endpoint's key"
        )
    return {"Authorization": f"Bearer {key}"}


def error_message(data: dict[str, Any]) -> str:
    """The endpoint's own words for an error, in one line."""
    error = data.get("error")
    text = error.get("message") if isinstance(error, dict) else error or data
    return " ".join(str(text).split())[:300]


def _json(raw: bytes, status: int) -> Any:
    """The answer's JSON; for an error that no retry would mend, its text if it is none."""
    try:
        return json.loads(raw)
    except ValueError:
        if status < 400:
            raise
        return {"error": raw.decode(errors="replace")}


def pause_of(headers: Mapping[str, str]) -> float:
    """Seconds that an answer's headers ask everybody to wait; 0 for none, 600 at most.

    ``Retry-After``, and ``x-ratelimit-reset-*`` where ``x-ratelimit-remaining-*`` is down to 0.
    """
    pause = retry_after(headers.get("Retry-After")) or 0.0
    for what in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{what}", "").strip() == "0":
            pause = max(pause, _duration(headers.get(f"x-ratelimit-reset-{what}", "")))
    return min(pause, MAX_PAUSE_S)


def retry_after(value: str | None) -> float | None:
    """Seconds of a ``Retry-After`` header: a number of seconds or a date (RFC 9110, 10.2.3).

    Returns:
        Between 0 and 600; None where there is no header, or one that is neither.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(value)
    return min(max(0.0, seconds), MAX_PAUSE_S) if math.isfinite(seconds) else None


def _until(date: str) -> float:
    """Seconds from now to an HTTP date; NaN where it is none."""
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):  # the latter for numbers that no integer of C holds
        return math.nan
    # "-0000" says UTC without saying where the clock stands, and is read without a zone.
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return (moment - datetime.now(UTC)).total_seconds()


def _duration(text: str) -> float:
    """``6m0s``, ``120ms`` or plain seconds; what is neither is 0."""
    plain = retry_after(text)
    if plain is not None:
        return plain
    return sum(float(n) * _UNITS[unit] for n, unit in _PART.findall(text))
