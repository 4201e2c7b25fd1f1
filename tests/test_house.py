"""The rules of the house: light imports, short files and functions, data flows downwards only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "llmpedia"
FILES = sorted(ROOT.rglob("*.py"))
SERVING = sorted((ROOT.parent / "serving").rglob("*.py"))
HEAVY = "torch vllm ray faiss transformers sentence_transformers sklearn scipy trafilatura libzim statsmodels matplotlib".split()

# Unit -> the units that it may not import, at any depth of its code
CLI = ["cli", "cli_audit", "cli_export", "cli_grid", "cli_import", "cli_ppl", "cli_probe", "cli_schema", "cli_site"]
UPPER = ["materialize", "audit", "probe", "perplexity", "analysis", "site", "rehearsal", "grid", "api", *CLI]
LOWEST = ["errors", "config", "config_files", "tables", "stages", "prompts", "wikitext", "guided", "sheets"]
FORBIDDEN = {
    **{name: ["engines", "store", "entities", "execution", *UPPER] for name in LOWEST},
    **{name: ["execution", *UPPER] for name in ("engines", "store", "entities")},
    "execution": UPPER,
    "materialize": ["audit", "probe", "rehearsal", "grid", *CLI],
    "audit": ["materialize", "probe", "analysis", "rehearsal", "grid", *CLI],
    "grid": ["rehearsal", "site", *CLI],
    "probe": ["materialize", "analysis", "rehearsal", "grid", *CLI],  # its web check stands on the audit's search, pages, guards
    "analysis": ["rehearsal", "grid", *CLI],
    "site": ["materialize", "rehearsal", "grid", *CLI],
}


def module(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit(name: str) -> str:
    """The part of the house that a module belongs to."""
    return f"{name}..".split(".")[1]


def imports(path: Path, package: str = "llmpedia") -> set[str]:
    """Modules of a package that a file names in an import, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides what it imports"
            found |= {str(node.module), *(f"{node.module}.{a.name}" for a in node.names)}
    return {name for name in found if name.split(".")[0] == package}


def lengths() -> dict[str, int]:
    found = {}
    for path in FILES + SERVING:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found[f"{module(path)}:{node.lineno} {node.name}"] = node.end_lineno - node.lineno + 1
    return found


def test_importing_everything_loads_nothing_heavy():
    names = [module(p) for p in FILES + SERVING]
    program = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        f"print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize("name", sorted(FORBIDDEN))
def test_no_layer_imports_an_upper_one(name):
    files = [p for p in FILES if unit(module(p)) == name]
    assert files, f"{name} is gone: correct this test"
    wrong = [f"{module(p)} imports {m}" for p in files for m in sorted(imports(p)) if unit(m) in FORBIDDEN[name]]
    assert wrong == []


def test_the_package_knows_nothing_of_what_serves_it():
    assert [p for p in FILES if imports(p, "serving")] == []


def test_no_file_is_over_500_lines():
    assert [f"{p}: {n}" for p in FILES + SERVING if (n := len(p.read_text().splitlines())) > 500] == []


def test_no_function_is_over_80_lines():
    assert {name: n for name, n in lengths().items() if n > 80} == {}


def test_nine_of_ten_functions_are_within_40_lines():
    ordered = sorted(lengths().values())
    assert ordered[int(len(ordered) * 0.9)] <= 40


def test_no_module_is_called_utils():
    assert [p for p in FILES + SERVING if {"utils", "util", "helpers", "misc"} & {p.stem, p.parent.name}] == []
