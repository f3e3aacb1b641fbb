"""What is sent to hosts."""

import ast

import pytest

from clusterwright.edge import bundler
from clusterwright.edge.bundler import agent_modules, imports, library, sources

PROGRAMS = [
    value
    for name, value in vars(bundler).items()
    if name.lstrip("_").isupper() and str(value).startswith("onhost/")
]


def test_the_agent_comes_with_what_it_imports():
    """Modules of its own room alone, for Python 3.6."""
    names = [name for name, _text in agent_modules()]

    assert names[-1] == "clusterwright.onhost.provision.agent"
    assert all(name.startswith("clusterwright.onhost") for name in names)
    assert len(names) > 20


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_closed(program):
    """Each module comes after all those that it imports at its top, and nothing is missing."""
    seen = set()
    for name, text in sources(program):
        for node in ast.parse(text).body:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clusterwright"):
                for alias in node.names:
                    assert {f"{node.module}.{alias.name}", node.module} & seen, (
                        name,
                        node.module,
                        alias.name,
                    )
        seen.add(name)


def test_imports_are_found_as_python_finds_them():
    """In every module that goes to a host."""
    count = 0
    for path in (bundler.PACKAGE / "onhost").rglob("*.py"):
        text = path.read_text()
        expected = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clusterwright"):
                for alias in node.names:
                    inner = bundler.PACKAGE.parent / f"{node.module}.{alias.name}".replace(".", "/")
                    module = inner.with_suffix(".py").exists() or inner.is_dir()
                    expected.add(f"{node.module}.{alias.name}" if module else node.module)
            assert not (
                isinstance(node, ast.Import) and any("clusterwright" in one.name for one in node.names)
            )
        count += len(expected)

        assert set(imports(text)) == expected, path
    assert count > 100


def test_jobs_get_their_side_and_nothing_else():
    """The library's root, and what runs inside jobs."""
    paths = set(library())

    assert {
        "clusterwright/__init__.py",
        "clusterwright/onhost/__init__.py",
        "clusterwright/onhost/supervisor/__init__.py",
        "clusterwright/runtime/recipes/digits.txt",
    } <= paths
    assert not [path for path in paths if "/provision/" in path or "/launch/" in path]
