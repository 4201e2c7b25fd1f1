"""``llmpedia status``: where a run stands, from its manifests, lease and journal alone."""

import time
from collections import Counter
from typing import Any

from llmpedia.engines.usage import spent
from llmpedia.run_kinds import spec_of
from llmpedia.store import journal
from llmpedia.store.kinds import RunKind
from llmpedia.store.lease import read_lease
from llmpedia.store.run_folder import RunFolder


def status(run: RunFolder) -> dict[str, Any]:
    """Plain data: commits, totals, fates so far, who writes, and what the wave under way has
    answered, what was spent.

    Of an audit: outcomes and verdicts in place of fates; of scores: errors by kind; of a probe:
    fates by step, or outcomes.
    """
    last = run.manifests[-1].facts if run.manifests else None
    spec = spec_of(run)
    walk = {}
    if run.kind == RunKind.WALK:
        walk = {name: last[name] if last else None for name in ("hop", "caps")}
    holder = read_lease(run.folder)
    under_way = [w for w in journal.waves_with_pieces(run.folder) if w > run.last_wave]
    return {
        "run": run.uri,
        "commits": run.last_wave + 1,
        **walk,
        "totals": last["totals"] if last else None,
        **{name: sum(m.facts["counts"].get(name, 0) for m in run.manifests) for name in spec.failures},
        **{name: _summed(run, name) for name in spec.counted},
        "writer": {**holder, "seconds_since_renewed": round(time.time() - holder["renewed"])}
        if holder
        else None,
        "journal": {f"wave {w}": len(journal.read_wave(run.folder, w)) for w in under_way},
        "usage": spent(run),
        "fingerprint": run.fingerprint(),
    }


def _summed(run: RunFolder, name: str) -> dict[str, int]:
    """Counts of the manifests under a name, added up."""
    whole: Counter[str] = Counter()
    for manifest in run.manifests:
        whole.update(manifest.facts["counts"].get(name, {}))
    return dict(sorted(whole.items()))
