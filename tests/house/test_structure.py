"""No import cycles, no tiny modules with one importer, few shared class names, no hand-formatted code."""

import ast
from collections import defaultdict
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
FRAGMENT = 60  # lines; a shorter module that only one neighbor imports belongs into that one
REGISTRIES = (
    "check/checks/", "check/facts/", "check/bench/kinds/", "check/bench/parsers/", "diagnose/pending/reasons/",
    "heal/actions/", "lab/faults/", "onhost/launchers/", "onhost/provision/derive/", "platforms/", "provision/roles/",
)  # fmt: skip
# Numbers of those that are left; only lower them.
MOST_FRAGMENTS = 2
MOST_SHARED_NAMES = 0
MOST_HAND_LAID = 11


@pytest.fixture(scope="session")
def figures(load_tool):
    """Return tools/house-figures as a module."""
    return load_tool("house-figures")


def fragments(source, figures):
    """Yield short modules that exactly one module imports, from the same folder; `__init__` does not count.

    Programs for `python -m` are excluded, as they have other users.
    """
    trees = {module.inside: module.tree for module in source}
    names = {figures.module(path): path for path in trees}
    importers = defaultdict(set)
    for name, path in names.items():
        for other in figures.targets(name, trees[path], names):
            importers[names[other]].add(path)
    for module in source:
        by = importers[module.inside]
        beside = [one for one in by if PurePosixPath(one).parent == PurePosixPath(module.inside).parent]
        if (
            len(module.lines) < FRAGMENT
            and len(by) == len(beside) == 1
            and not beside[0].endswith("__init__.py")
            and not module.inside.startswith(REGISTRIES)
            and 'if __name__ == "__main__":' not in module.lines
        ):
            yield f"{module.inside} ({len(module.lines)} lines): only {beside[0]} imports it"


def test_modules_do_not_import_each_other(source, figures):
    """There are no import cycles, including lazy imports and imports for types."""
    circles = figures.circles({module.inside: module.tree for module in source})

    assert circles == []


def test_a_fragment_lies_in_the_module_that_it_serves(source, figures):
    """A short module has several importers, or is part of its only one."""
    found = list(fragments(source, figures))

    assert len(found) <= MOST_FRAGMENTS, "\n".join(found)


def test_a_class_has_its_name_in_two_rooms_at_most(source):
    """Few class names are used in more than two packages."""
    rooms = defaultdict(set)
    for module in source:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                rooms[node.name].add(module.inside.split("/")[0])
    shared = [f"{name}: {', '.join(sorted(where))}" for name, where in rooms.items() if len(where) > 2]

    assert len(shared) <= MOST_SHARED_NAMES, "\n".join(shared)


def is_literal(node):
    """Return whether a node consists of constants and names, and collections or calls of them."""
    if isinstance(node, ast.Call):
        return all(map(is_literal, [*node.args, *(keyword.value for keyword in node.keywords)]))
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(map(is_literal, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is None or is_literal(key) for key in node.keys) and all(map(is_literal, node.values))
    if isinstance(node, ast.BinOp):
        return is_literal(node.left) and is_literal(node.right)
    if isinstance(node, ast.Subscript):
        return is_literal(node.slice)
    if isinstance(node, ast.UnaryOp):
        return is_literal(node.operand)
    return isinstance(node, ast.Constant | ast.Name | ast.Attribute)


def is_table(statement):
    """Return whether a statement is an assignment of literals."""
    return isinstance(statement, ast.Assign | ast.AnnAssign) and is_literal(statement.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = {'x': 1, 'y': (2, -3)}", True),
        ("a: int = field('What it is.', default=3)", True),
        ("a = Literal['x', 'y']", True),
        ("a = {key: 1 for key in rows}", False),
        ("print(1, 2)", False),
        ("a = f'{b}'", False),
    ],
)
def test_a_table_is_an_assignment_of_literals(text, expected):
    """Computed values are not a table."""
    assert is_table(ast.parse(text).body[0]) is expected


def test_only_tables_are_laid_out_by_hand(source):
    """`fmt: skip` is only on tables."""
    wrong = []
    for module in source:
        numbers = [at for at, line in enumerate(module.lines, 1) if "# fmt: skip" in line]
        statements = [one for one in ast.walk(module.tree) if isinstance(one, ast.stmt)] if numbers else []
        for number in numbers:
            around = [one for one in statements if one.lineno <= number <= one.end_lineno]
            smallest = min(around, key=lambda one: one.end_lineno - one.lineno, default=None)
            if not is_table(smallest):
                wrong.append(f"{module.name}:{number}")

    assert len(wrong) <= MOST_HAND_LAID, "\n".join(wrong)
