"""Every test can fail: it has an assertion that is not a constant.

A test that always passes is worse than none (defect D9 of earlier build tools).
"""

import ast

import pytest

FAILING = {"raises", "fail", "warns", "deprecated_call"}  # of pytest


def asserting(function, helpers):
    """Return whether a test can fail, by its own assertions or those of a helper in its file."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in FAILING or name in helpers:
                return True
    return False


def without_assertion(text):
    """Return the tests in a file's text that cannot fail."""
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    helpers = {
        one.name for one in functions if not one.name.startswith("test_") and asserting(one, frozenset())
    }
    tests = [one for one in functions if one.name.startswith("test_")]
    return [f"{one.lineno} {one.name}" for one in tests if not asserting(one, helpers)]


def test_every_test_asserts(test_modules):
    """Each test asserts, expects an exception, or calls a helper of its file that does."""
    idle = [f"{module.name}:{test}" for module in test_modules for test in without_assertion(module.text)]

    assert idle == []


@pytest.mark.parametrize(
    "body", ["pass", "assert True", "run('true')", "assert 1", "print('ok')", "'''It works.'''"]
)
def test_a_test_that_cannot_fail_is_found(body):
    """A docstring, a constant or a command without a check of its result is not an assertion."""
    assert without_assertion(f"def test_it():\n    {body}\n") == ["1 test_it"]


def test_a_helper_that_asserts_counts():
    """A helper in the same file counts, one level deep."""
    text = "def holds(x):\n    assert x\n\ndef test_it():\n    holds(run())\n"

    assert without_assertion(text) == []
