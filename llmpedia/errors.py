"""The errors a user can meet, and the exit code each one ends a command with.

A message is one line: the setting or thing at fault, its value, the rule, the way out. A failure of
a single row is not an exception here; it is the row's ``error`` column.
"""

EXIT_DONE = 0
EXIT_FINDING = 1
EXIT_BAD_INPUT = 2
EXIT_ENGINE = 3
EXIT_INTERRUPTED = 130

MEANINGS = {
    EXIT_DONE: "done",
    EXIT_FINDING: "finished with a finding",
    EXIT_BAD_INPUT: "bad configuration or input",
    EXIT_ENGINE: "engine unavailable",
    EXIT_INTERRUPTED: "stopped from outside",
}


class LlmpediaError(Exception):
    """Base of all errors that end a command with one line and no traceback."""

    exit_code = EXIT_BAD_INPUT


class ConfigError(LlmpediaError):
    """A setting is unknown, of the wrong type or impossible."""


class InputError(LlmpediaError):
    """A file or folder given to a command cannot be used as it is."""


class EngineError(LlmpediaError):
    """No completion or embedding can be had; the run is unharmed and resumes."""

    exit_code = EXIT_ENGINE


class TransientError(Exception):
    """A try failed for a reason that may pass: overload, a dying replica, a cut connection.

    ``wait_s``: the wait asked for. ``rate_limited``: it was refused because too much is asked at
    once (HTTP 429).
    """

    def __init__(self, message: str, wait_s: float | None = None, rate_limited: bool = False) -> None:
        super().__init__(message)
        self.wait_s = wait_s
        self.rate_limited = rate_limited
