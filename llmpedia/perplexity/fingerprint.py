"""Which weights a name stands for, so that values of two models, or of two states of one, are never
taken for each other.
"""

import hashlib
from pathlib import Path

from llmpedia.config.engine import EngineSection
from llmpedia.engines.packaged_weights import resolve_model


def model_fingerprint(engine: EngineSection) -> str:
    """A server's address and model; a hub model's commit; sha256 of all of a folder, read once
    (about 1 GB/s).
    """
    if not engine.is_local:
        return f"{engine.base_url} {engine.model}"
    folder = Path(resolve_model(engine.model))
    if folder.is_dir():
        return _folder_hash(folder)
    from huggingface_hub import hf_hub_download

    return f"{engine.model}@{Path(hf_hub_download(engine.model, 'config.json')).parent.name}"


def _folder_hash(folder: Path) -> str:
    whole = hashlib.sha256()
    for file in sorted(p for p in folder.iterdir() if p.is_file()):
        with file.open("rb") as f:
            whole.update(f"{file.name} {hashlib.file_digest(f, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()
