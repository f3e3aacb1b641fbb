"""What is sent to hosts."""

import ast
import subprocess
import sys

import pytest

from clusterwright.edge import bundler
from clusterwright.edge.bundler import LOADER, PROVISION, imports, library, pack, sources

PROGRAMS = [
    value
    for name, value in vars(bundler).items()
    if name.lstrip("_").isupper() and str(value).startswith("onhost/")
]


def test_the_agent_comes_with_what_it_imports():
    """Modules of its own room alone, for Python 3.6."""
    names = [name for name, _text in sources(PROVISION)]

    assert names[-1] == "clusterwright.onhost.provision.agent"
    assert all(name.startswith("clusterwright.onhost") for name in names if name != "clusterwright")
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


def load(text, data):
    """The loader, by a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", text], input=data, capture_output=True, check=False, timeout=60
    )


def test_a_module_is_run_when_it_is_first_used():
    """What only changing needs costs looking nothing; what is used works, also when it imports another."""
    modules = [
        ("a", "'package'"),
        ("a.unused", "raise SystemExit('run')"),
        ("a.one", "VALUE = 41"),
        (
            "a.main",
            "from a import one, unused\nfrom a.one import VALUE\ndef main(): print(VALUE + 1, one.VALUE)",
        ),
    ]
    done = load(LOADER, pack(modules))

    assert (done.stdout, done.returncode) == (b"42 41\n", 0)


def test_an_old_python_is_told_of_in_one_line():
    """And not by a traceback of a syntax that it does not know."""
    done = load(f"import sys; sys.version_info = (3, 5, 2)\n{LOADER}", pack([("a", "")]))

    assert done.stderr.startswith(b"python3 is older than 3.6 here")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1


def test_a_program_reads_its_own_input_behind_its_modules():
    """As lines or as bytes; its exit code is the command's."""
    program = "import sys\ndef main():\n print(sys.stdin.readline().strip(), sys.argv[1:])\n return 7"
    done = subprocess.run(
        [sys.executable, "-c", LOADER, "a b"], input=pack([("a", program)]) + b"one\ntwo\n", capture_output=True,
        check=False, timeout=60,
    )  # fmt: skip

    assert (done.stdout, done.returncode) == (b"one ['a b']\n", 7)


def test_two_threads_may_be_the_first_to_use_a_module():
    """The second waits until it has run; no name of it is missing meanwhile."""
    main = """
from a import slow
import sys, threading
def main():
 threads=[threading.Thread(target=lambda: sys.stdout.write(slow.LAST)) for _ in range(4)]
 for thread in threads: thread.start()
 for thread in threads: thread.join()
"""
    modules = [("a", ""), ("a.slow", "import time\ntime.sleep(0.3)\nLAST = 'loaded '"), ("a.main", main)]
    done = load(LOADER, pack(modules))

    assert (done.stdout, done.stderr) == (b"loaded " * 4, b"")
