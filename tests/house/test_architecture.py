"""docs/architecture.md matches the code: its table of imports, and every file and name that it mentions."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clusterwright"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
EVERYWHERE = {"units", "errors", "file_arguments", "plugins", "drawing"}
ROW = re.compile(r"^\| `([a-z_]+)/?` \|[^|]*\|([^|]*)\|$", re.MULTILINE)
PLACE = re.compile(r"`([\w/]+\.(?:py|toml))(?:::([\w.]+))?`")


@pytest.fixture(scope="module")
def imported(source):
    """Map each package to the packages that it imports."""
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and any(path.rglob("*.py"))} - EVERYWHERE
    graph = defaultdict(set, {room: set() for room in rooms})
    for module in source:
        room = module.inside.split("/")[0]
        parts = (name.split(".") for _line, name in module.imports)
        named = {part[1] for part in parts if part[0] == "clusterwright" and len(part) > 1}
        if room in rooms:
            graph[room] |= (named & rooms) - {room}
    return dict(graph)


def test_the_map_is_that_of_the_imports(imported):
    """The table lists each package with exactly the packages that it imports."""
    written = {room: set(re.findall(r"`([a-z_]+)`", cell)) for room, cell in ROW.findall(PAGE)}

    assert written == imported


@pytest.mark.parametrize(("path", "name"), sorted(set(PLACE.findall(PAGE))))
def test_a_place_that_is_named_is_there(path, name):
    """The file exists, and defines the class, method or function."""
    text = (SOURCE / path).read_text()
    names = set()
    for node in ast.walk(ast.parse(text)) if path.endswith(".py") else ():
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)

    assert not name or name in names
