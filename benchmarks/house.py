"""How the code reads, measured: ``python benchmarks/house.py``; ``tests/test_house.py`` holds the
limits.

Prints one table over ``llmpedia``, ``serving`` and ``jobs``. ``--places llmpedia/site`` lists the
places in a folder instead, one a line. Nothing is imported: all of it is read.
"""

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("llmpedia", "serving", "jobs")
LONG_LINE = 100
LONG_FUNCTION = 20
LONG_FILE = 480
VAGUE_NAMES = frozenset(["told", "said", "found", "own", "made"])
"""Names that say nothing of the value they stand for."""


@dataclass(frozen=True)
class Source:
    """One Python file, read once."""

    path: Path

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of its syntax tree."""
        return list(ast.walk(self.tree))

    @property
    def module(self) -> str:
        """Its dotted name, that of the package for an ``__init__``."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(*folders: str) -> list[Source]:
    """The Python files below folders of the repository, in order of their paths."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return [Source(path) for path in sorted(paths)]


def files_by_folder(files: list[Source]) -> Counter[Path]:
    """How many Python files lie in each folder, ``__init__`` among them."""
    return Counter(source.path.parent.relative_to(ROOT) for source in files)


def function_lengths(files: list[Source]) -> dict[str, int]:
    """Lines of every function, by "module:line name"."""
    lengths = {}
    for source in files:
        for node in source.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{source.module}:{node.lineno} {node.name}"
                lengths[name] = (node.end_lineno or node.lineno) - node.lineno + 1
    return lengths


def long_lines(files: list[Source]) -> tuple[int, int]:
    """Lines over 100 characters, and all lines that are not blank."""
    lines = [line for source in files for line in source.lines if line.strip()]
    return sum(len(line) > LONG_LINE for line in lines), len(lines)


def tuple_assignments(files: list[Source]) -> list[str]:
    """Places of ``a, b = x, y``; a swap, whose two sides hold the same names, is none."""
    return [
        f"{source.module}:{node.lineno}"
        for source in files
        for node in source.nodes
        if isinstance(node, ast.Assign) and _is_several(node)
    ]


def _is_several(node: ast.Assign) -> bool:
    target = node.targets[0]
    if not (isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)):
        return False
    left = sorted(ast.unparse(item) for item in target.elts)
    return left != sorted(ast.unparse(item) for item in node.value.elts)


def row_aliases(files: list[Source]) -> list[str]:
    """Modules that give ``dict[str, Any]`` a name of their own."""
    pattern = re.compile(r"^\w+(?:: TypeAlias)? = dict\[str, (?:Any|object)\]", re.MULTILINE)
    return [source.module for source in files if pattern.search(source.text)]


def class_names(files: list[Source]) -> dict[str, list[str]]:
    """Public classes whose name stands in several modules, with these."""
    modules = defaultdict(list)
    for source in files:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(source.module)
    return {name: where for name, where in sorted(modules.items()) if len(where) > 1}


def vague_names(files: list[Source]) -> list[str]:
    """Places where a value gets one of ``VAGUE_NAMES``: variables, parameters, fields."""
    return [
        f"{source.path.relative_to(ROOT)}:{node.lineno} {name}"
        for source in files
        for node in source.nodes
        if (name := _bound_name(node)) in VAGUE_NAMES and isinstance(node, ast.Name | ast.arg)
    ]


def _bound_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


def imports(files: list[Source]) -> dict[str, set[str]]:
    """Module -> modules among ``files`` that it imports, at its top or inside a function."""
    modules = {source.module for source in files}
    graph = {}
    for source in files:
        graph[source.module] = {name for name in _imported(source, modules) if name != source.module}
    return graph


def _imported(source: Source, modules: set[str]) -> Iterator[str]:
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in modules:
                    yield inner
                elif node.module in modules:
                    yield str(node.module)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of two or more nodes that reach each other (strongly connected components)."""
    order: list[str] = []
    seen: set[str] = set()
    for node in graph:
        _visit(node, graph, seen, order)
    backwards: dict[str, set[str]] = {node: set() for node in graph}
    for node, targets in graph.items():
        for target in targets:
            backwards[target].add(node)
    seen = set()
    groups = []
    for node in reversed(order):
        group: list[str] = []
        _visit(node, backwards, seen, group)
        groups.append(sorted(group))
    return [group for group in groups if len(group) > 1]


def _visit(start: str, graph: dict[str, set[str]], seen: set[str], finished: list[str]) -> None:
    """Depth first from ``start`` without recursion; ``finished`` gets the nodes as they are left."""
    if start in seen:
        return
    seen.add(start)
    stack = [(start, iter(sorted(graph[start])))]
    while stack:
        node, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(sorted(graph[target]))))
                break
        else:
            stack.pop()
            finished.append(node)


def rooms(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same graph between folders; a folder and one inside it count as one direction only: none."""
    folders: dict[str, set[str]] = defaultdict(set)
    for module, targets in graph.items():
        for target in targets:
            start = _room(module)
            end = _room(target)
            nested = start.startswith(f"{end}.") or end.startswith(f"{start}.")
            folders[start] |= set() if start == end or nested else {end}
            folders[end] |= set()
    return dict(folders)


def _room(module: str) -> str:
    package = ROOT.joinpath(*module.split(".")).is_dir()
    return module if package or module.count(".") == 1 else module.rpartition(".")[0]


def untested(files: list[Source]) -> list[str]:
    """Modules without a test of the same name at the same place below ``tests``; ``__init__`` has
    none.
    """
    missing = []
    for source in files:
        relative = source.path.relative_to(ROOT)
        inner = Path(*relative.parts[1:]) if relative.parts[0] == "llmpedia" else relative
        test = ROOT / "tests" / inner.parent / f"test_{inner.stem}.py"
        if inner.stem != "__init__" and not test.exists():
            missing.append(source.module)
    return missing


def measures() -> list[tuple[str, str]]:
    """Rows of the table: what is measured, and the value."""
    files = sources(*SOURCES)
    everywhere = sources(*SOURCES, "tests", "benchmarks")
    sizes = sorted(len(source.lines) for source in files)
    lengths = sorted(function_lengths(files).values())
    long, total = long_lines(files)
    tuples = tuple_assignments(files)
    graph = imports(files)
    folder, fullest = files_by_folder(everywhere).most_common(1)[0]
    named = [source for source in files if source.path.stem != "__init__"]
    return [
        ("files / lines", f"{len(files)} / {sum(sizes):,}"),
        ("lines a file: median / p90 / most", f"{median(sizes):.0f} / {_p90(sizes)} / {sizes[-1]}"),
        ("lines a function: median / p90 / most", f"{median(lengths):.0f} / {_p90(lengths)} / {lengths[-1]}"),
        ("functions over 50 lines", f"{sum(n > 50 for n in lengths)} of {len(lengths):,}"),
        ("files in the fullest folder, tests and benchmarks too", f"{fullest} ({folder})"),
        ("lines over 100 characters", f"{long / total:.1%}"),
        ("tuple assignments a 1,000 lines", f"{1000 * len(tuples) / sum(sizes):.1f}"),
        ("modules with a Row alias", str(len(row_aliases(files)))),
        ("public class names in several modules", str(len(class_names(files)))),
        ("circles of imports: modules, folders", f"{len(circles(graph))}, {len(circles(rooms(graph)))}"),
        (
            "modules with a test of the same name",
            f"{1 - len(untested(files)) / len(named):.0%} of {len(named)}",
        ),
    ]


def places(folder: str) -> list[str]:
    """What could be better in one folder, a line each: names, lengths, duplicates, missing tests."""
    files = [source for source in sources(*SOURCES) if source.path.is_relative_to(ROOT / folder)]
    duplicates = class_names(sources(*SOURCES))
    modules = {source.module for source in files}
    return [
        *(f"{place}: names nothing" for place in vague_names(files)),
        *(f"{place}: a tuple assignment" for place in tuple_assignments(files)),
        *(f"{name}: {n} lines" for name, n in function_lengths(files).items() if n > LONG_FUNCTION),
        *(f"{s.module}: {len(s.lines)} lines" for s in files if len(s.lines) > LONG_FILE),
        *(f"{module}: a Row alias" for module in row_aliases(files)),
        *(f"class {name}: {', '.join(w)}" for name, w in duplicates.items() if modules & set(w)),
        *(f"{module}: no test of its name" for module in untested(files)),
    ]


def _p90(ordered: list[int]) -> int:
    return ordered[int(len(ordered) * 0.9)]


def main() -> None:
    """Print the table, or the places of a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--places", metavar="FOLDER", help="list what could be better in this folder")
    folder = parser.parse_args().places
    if folder:
        print(*places(folder), sep="\n")
        return
    rows = measures()
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    main()
