"""The ``llmpedia`` command. Results go to standard output, progress and errors to standard error."""

import argparse
import difflib
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

from llmpedia import __version__
from llmpedia.cli.audit import add_audit, with_action
from llmpedia.cli.export import add_export
from llmpedia.cli.grid import add_grid
from llmpedia.cli.importing import add_import
from llmpedia.cli.materialize import add_materialize, add_plan
from llmpedia.cli.perplexity import add_ppl
from llmpedia.cli.probe import add_probe
from llmpedia.cli.rehearse import add_rehearse
from llmpedia.cli.runs import add_report, add_status, add_verify
from llmpedia.cli.schema import add_schema
from llmpedia.cli.site import add_browse
from llmpedia.errors import (
    EXIT_BAD_INPUT,
    EXIT_DONE,
    EXIT_INTERRUPTED,
    MEANINGS,
    InputError,
    LlmpediaError,
)
from llmpedia.signals import sigterm_as_ctrl_c


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it ended (see ``errors``)."""
    code, why = _ended(sys.argv[1:] if argv is None else argv)
    if why is not None:
        print(f"llmpedia: {why}", file=sys.stderr)
    return code


def job(*argv: str) -> int:
    """``main`` for a Ray job. Its last line tells the exit code: ``ray job submit`` answers 1 to
    any failure.
    """
    try:
        code, why = _ended(argv)
        meaning = MEANINGS[code]
    except Exception as e:  # a defect, and the last that is said of it must be readable too
        traceback.print_exc()
        code = 1
        meaning = "a defect"
        why = f"{type(e).__name__}: {' '.join(str(e).split())}"
    sys.stderr.flush()
    print(f"exit {code} ({meaning}){': ' + why if why else ''}", flush=True)
    return code


def _ended(argv: Sequence[str]) -> tuple[int, str | None]:
    """Exit code of a command, and why in one line where it did not do what was asked."""
    try:
        with sigterm_as_ctrl_c():
            args = _parser().parse_args(with_action(argv))
            return int(args.run(args)), None
    except LlmpediaError as e:
        return e.exit_code, str(e)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has enough of it
        return EXIT_DONE, None
    except OSError as e:
        if e.filename is None:
            raise
        return EXIT_BAD_INPUT, f"{e.filename}: {e.strerror}; give another path"
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED, "interrupted; nothing committed is lost, the same command resumes"


class _Parser(argparse.ArgumentParser):
    """Arguments that make no sense end a command like any other bad input."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Raise for an option that this command does not have, before argparse misses what it was
        meant to be.
        """
        given = list(sys.argv[1:] if args is None else args)
        options = list(self._option_string_actions)
        ours = given[: given.index("--")] if "--" in given else given
        for name in (
            text.partition("=")[0] for text in ours if self._subparsers is None and text.startswith("--")
        ):
            if " " not in name and not any(option.startswith(name) for option in options):
                close = difflib.get_close_matches(name, options, n=1)
                self.error(f"{name}: no such option{f', did you mean {close[0]}' if close else ''}")
        known, strange = super().parse_known_args(args, namespace)
        if strange:
            self.error(f"unrecognized arguments: {' '.join(strange)}")
        return known, strange

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see {self.prog} --help")


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="llmpedia", description="Materialize and audit what a language model knows."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add_materialize(commands)
    add_plan(commands)
    add_verify(commands)
    add_status(commands)
    add_report(commands)
    add_audit(commands)
    add_grid(commands)
    add_import(commands)
    add_ppl(commands)
    add_probe(commands)
    add_browse(commands)
    add_export(commands)
    add_schema(commands)
    add_rehearse(commands)
    return parser
