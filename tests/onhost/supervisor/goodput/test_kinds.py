"""No event is written that the table does not have."""

import ast
import re
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor.goodput.kinds import COMMON, KINDS

SOURCE = Path(__file__).parents[4] / "src" / "clusterwright"
MODULES = sorted(path for room in ("launch", "onhost", "runtime") for path in (SOURCE / room).rglob("*.py"))
WRITERS = re.compile(r"(^|\.)_?(events|log|run)$|^self$")


def written(text):
    """Kind, names of the fields, and line of every event that the module writes."""
    for node in ast.walk(ast.parse(text)):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if not called or node.func.attr not in ("write", "soon", "record") or not node.args:
            continue
        kind = node.args[0]
        if WRITERS.search(ast.unparse(node.func.value)) and isinstance(kind, ast.Constant):
            yield kind.value, [one.arg for one in node.keywords if one.arg], node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_event_is_in_the_table(path):
    """Its kind, and every field that is named where it is written."""
    for kind, fields, number in written(path.read_text()):
        assert kind in KINDS, f"{path}:{number}: {kind}"
        known = {*KINDS[kind].fields, *COMMON}
        assert set(fields) <= known, f"{path}:{number}: {kind} {sorted(set(fields) - known)}"


def test_every_kind_of_the_table_is_written():
    """Nothing is documented that does not happen."""
    kinds = {kind for path in SOURCE.rglob("*.py") for kind, _, _ in written(path.read_text())}

    assert sorted(KINDS.keys() - kinds) == []


@pytest.mark.parametrize(
    "line",
    [
        "self._events.write('odd', 1, x=2)",
        "run.record('odd', x=2)",
        "log.write('odd', x=2)",
        "self._log.soon('odd', x=2)",
    ],
)
def test_the_search_finds_what_it_looks_for(line):
    """In each of the ways in which the code says it."""
    assert list(written(line)) == [("odd", ["x"], 1)]


def test_writing_a_file_is_no_event():
    """A folder's and a stream's `write` are others."""
    assert list(written("self.folder.write('stop', {})\nsys.stdout.write('x')")) == []
