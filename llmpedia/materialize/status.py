"""``llmpedia status``: where a run stands, from its manifests, lease and journal alone."""

import time
from typing import Any

from llmpedia.analysis.usage import spent
from llmpedia.store import journal
from llmpedia.store.lease import read_lease
from llmpedia.store.runfolder import RunFolder


def status(run: RunFolder) -> dict[str, Any]:
    """Plain data: commits, totals, fates so far, who writes, and what the wave under way has answered, what was spent."""
    last = run.manifests[-1].facts if run.manifests else None
    fates: dict[str, int] = {}
    for manifest in run.manifests:
        for fate, n in manifest.facts["counts"]["fates"].items():
            fates[fate] = fates.get(fate, 0) + n
    holder = read_lease(run.folder)
    under_way = [w for w in journal.waves_with_pieces(run.folder) if w > run.last_wave]
    return {
        "run": run.uri,
        "commits": run.last_wave + 1,
        "hop": last["hop"] if last else None,
        "totals": last["totals"] if last else None,
        "errored": sum(m.facts["counts"]["errored"] for m in run.manifests),
        "fates": dict(sorted(fates.items())),
        "caps": last["caps"] if last else None,
        "writer": {**holder, "seconds_since_renewed": round(time.time() - holder["renewed"])} if holder else None,
        "journal": {f"wave {w}": len(journal.read_wave(run.folder, w)) for w in under_way},
        "usage": spent(run),
        "fingerprint": run.fingerprint(),
    }
