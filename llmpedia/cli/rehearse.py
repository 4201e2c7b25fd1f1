"""``llmpedia rehearse``: a synthetic world to try a run on, its documents, and runs against its
truth.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llmpedia.errors import EXIT_DONE, EXIT_FINDING, InputError
from llmpedia.run_kinds import spec_of
from llmpedia.store.kinds import RunKind


def add_rehearse(commands: Any) -> None:
    """Add the command with its actions."""
    rehearse = commands.add_parser("rehearse", help="a synthetic world with planted truth, to try a run on")
    actions = rehearse.add_subparsers(required=True, metavar="ACTION")
    serve = actions.add_parser("serve", help="serve the world on 127.0.0.1 until interrupted")
    serve.add_argument("--port", type=int, default=8765)
    serve.set_defaults(run=_rehearse_serve)
    score = actions.add_parser(
        "score", help="compare a run, an audit or a probe with the planted truth; exit code 1 on a finding"
    )
    score.add_argument("run_uri", metavar="RUN")
    score.add_argument("--json", help="file for the figures as JSON")
    score.set_defaults(run=_rehearse_score)
    corpus = actions.add_parser(
        "corpus", help="write the documents that planted disagreements are told in, for llmpedia probe build"
    )
    corpus.add_argument("--out", required=True, metavar="DIR", help="folder for documents.jsonl.gz")
    corpus.set_defaults(run=_rehearse_corpus)
    for command in (serve, score, corpus):
        command.add_argument(
            "--seed", type=int, default=0, help="of the world; the same for serve, corpus and score"
        )
        command.add_argument(
            "--set", action="append", default=[], metavar="a.b=c", help="override one setting of the world"
        )


def _rehearse_serve(args: argparse.Namespace) -> int:
    import asyncio

    from llmpedia.rehearsal.server.server import run_server
    from llmpedia.rehearsal.settings import load_settings

    settings = load_settings(args.set, seed=args.seed)
    print(
        f"a world of {settings.entities} entities on http://127.0.0.1:{args.port}/v1; counters at /stats",
        file=sys.stderr,
    )
    asyncio.run(run_server(settings, args.port))
    return EXIT_DONE


def _rehearse_corpus(args: argparse.Namespace) -> int:
    from llmpedia.rehearsal.planted.corpus import write_corpus
    from llmpedia.rehearsal.settings import load_settings
    from llmpedia.rehearsal.world.world import World

    print(write_corpus(World(load_settings(args.set, seed=args.seed)), Path(args.out)))
    return EXIT_DONE


def _rehearse_score(args: argparse.Namespace) -> int:
    from llmpedia.rehearsal.scoring.audit import score_audit
    from llmpedia.rehearsal.scoring.probe import findings, score_probe
    from llmpedia.rehearsal.scoring.responses import score_responses
    from llmpedia.rehearsal.scoring.walk import render, score
    from llmpedia.rehearsal.settings import load_settings
    from llmpedia.rehearsal.world.world import World
    from llmpedia.store.run_folder import RunFolder

    run = RunFolder.open(args.run_uri)
    world = World(load_settings(args.set, seed=args.seed))
    scores: dict[RunKind, tuple[Callable[..., dict[str, Any]], Callable[[dict[str, Any]], bool]]] = {
        RunKind.WALK: (score, _walk_is_wrong),
        RunKind.AUDIT: (score_audit, lambda rows: any(row.get("wrong_outcome") for row in rows.values())),
        RunKind.BUILD: (score_probe, lambda figures: bool(findings(figures))),
        RunKind.RESPONSES: (score_responses, lambda figures: bool(figures["mismatches"])),
    }
    if run.kind not in scores:
        raise InputError(
            f"{args.run_uri}: holds {spec_of(run).label}, nothing of which is planted; give a run, audit, "
            f"build or responses"
        )
    score_folder, is_wrong = scores[run.kind]
    figures = score_folder(run, world)
    print(render(figures))
    if run.kind == RunKind.BUILD and figures["documents"]["strangers"] > figures["documents"]["kept"] / 10:
        raise InputError(
            f"{args.run_uri}: its documents are of another world; give serve, corpus and score one "
            f"--seed and --set"
        )
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return EXIT_FINDING if is_wrong(figures) else EXIT_DONE


def _walk_is_wrong(figures: dict[str, Any]) -> bool:
    if figures["doubled"]["strangers"] > figures["doubled"]["world_entities"]:
        print(
            "most entities are strangers to this world: give the --seed and --set that the run's "
            "world was served with"
        )
        return True
    lost = figures["walk"]["lost"] or figures["walk"]["twice"] or figures["accounted"]["unaccounted"]
    return bool(lost or figures["doubled"]["doubled"])
