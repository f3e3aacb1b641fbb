"""Files and functions stay small enough to read, and everything says what it is."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LONGEST_FILE, LONGEST_TEST_FILE, LONGEST_FUNCTION = 400, 600, 50


def functions(path):
    """Every function of the module."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", MODULES + TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_short(path):
    """A room that is too full wants to be two."""
    limit = LONGEST_TEST_FILE if path in TESTS else LONGEST_FILE

    assert len(path.read_text().splitlines()) <= limit


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_function_is_short(path):
    """A reader holds fifty lines in mind, not more."""
    for node in functions(path):
        assert node.end_lineno - node.lineno + 1 <= LONGEST_FUNCTION, f"{path}:{node.lineno} {node.name}"


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_test_says_what_it_claims(path):
    """Each test has a docstring."""
    for node in functions(path):
        if node.name.startswith("test_"):
            assert ast.get_docstring(node), f"{path}:{node.lineno} {node.name} has no docstring"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_silenced_rule_says_why(path):
    """`noqa` and `type: ignore` carry their code and a reason in brackets."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if "# noqa" in line or "# type: ignore" in line:
            assert re.search(
                r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z-]+\]).*\(|see above|same", line
            ) or re.search(r"# noqa: PLC0415$", line), f"{path}:{number}: {line.strip()}"
