"""Fixtures with all modules of the repository, parsed once."""

import ast
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "clusterwright"


class Module:
    """A Python file: path, text and syntax tree."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.lines = self.text.splitlines()
        self.name = str(path.relative_to(ROOT))

    @cached_property
    def tree(self):
        """The syntax tree of the file."""
        return ast.parse(self.text)

    @cached_property
    def functions(self):
        """All functions and methods."""
        return [one for one in ast.walk(self.tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def imports(self):
        """Line and full name of each import, also within functions."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found += [(node.lineno, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}:{node.lineno}: write the import in full"
                found.append((node.lineno, node.module))
                found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        return found

    @property
    def inside(self):
        """The path relative to the package, such as `edge/files.py`."""
        return str(self.path.relative_to(SOURCE))


@pytest.fixture(scope="session")
def source():
    """All modules of the package."""
    return [Module(path) for path in sorted(SOURCE.rglob("*.py"))]


@pytest.fixture(scope="session")
def test_modules():
    """All test files."""
    return [Module(path) for path in sorted((ROOT / "tests").rglob("test_*.py"))]
