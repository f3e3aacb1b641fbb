"""Limits on the length of files and functions; tests have docstrings; silenced rules have reasons."""

import ast
import re

LONGEST_FILE, LONGEST_TEST_FILE, LONGEST_FUNCTION = 400, 600, 50
REASON = re.compile(r"# (noqa: [A-Z0-9, ]+|type: ignore\[[a-z,-]+\]).*\(|see above|same")
MOST_NOQA = 1.5  # in a thousand lines of source
FMT_SKIPS = 331  # only lower it; test_structure.py checks that they are tables


def test_a_file_is_short(source, test_modules):
    """No file exceeds its limit of lines."""
    long = [module.name for module in source if len(module.lines) > LONGEST_FILE]
    long += [module.name for module in test_modules if len(module.lines) > LONGEST_TEST_FILE]

    assert long == []


def test_a_function_is_short(source):
    """No function is longer than fifty lines."""
    long = [
        f"{module.name}:{node.lineno} {node.name}"
        for module in source
        for node in module.functions
        if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]

    assert long == []


def test_a_test_says_what_it_claims(test_modules):
    """Every test has a docstring."""
    silent = [
        f"{module.name}:{node.lineno} {node.name}"
        for module in test_modules
        for node in module.functions
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert silent == []


def test_a_silenced_rule_says_why(source):
    """`noqa` and `type: ignore` have a code and a reason in parentheses."""
    bare = [
        f"{module.name}:{number}: {line.strip()}"
        for module in source
        for number, line in enumerate(module.lines, 1)
        if ("# noqa" in line or "# type: ignore" in line) and not REASON.search(line)
    ]

    assert bare == []


def test_rules_are_seldom_silenced(source):
    """The numbers of `noqa` and `fmt: skip` stay below their limits."""
    lines = sum(len(module.lines) for module in source)
    silenced = sum(line.count("# noqa") for module in source for line in module.lines)
    unformatted = sum(line.count("# fmt: skip") for module in source for line in module.lines)

    assert silenced <= MOST_NOQA * lines / 1000
    assert unformatted <= FMT_SKIPS
