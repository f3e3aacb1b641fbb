"""A distribution is known by what it can and has; its name is compared nowhere but in platforms/."""

import ast
import re

from clusterwright.platforms import platform_names

KINDS = "|".join({name.partition("-")[0] for name in platform_names()})
RELEASE = re.compile(rf"\b({KINDS}|rhel)-[0-9]|^({KINDS})$")
NAMED = {"os", "platform.name", "platform.family", "platform.gpu_packages"}
COMPARES = {"check/checks/os_as_declared.py"}  # that the host's is the declared one is what it checks


def outside(source):
    """Every module that is not of the room of platforms."""
    return [module for module in source if not module.inside.startswith("platforms/")]


def docstrings(tree):
    """The constants that explain, by identity."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def is_named(node):
    """Whether it is the name of a cluster's distribution, or of what its names are taken from."""
    text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return any(text.endswith(f".{name}") for name in NAMED)


def judges(node):
    """Whether the node decides by a distribution's name: compares it, or takes it apart. A table's row may name it."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(is_named, sides)) and not any("row[" in ast.unparse(side) for side in sides)
    return isinstance(node, ast.Attribute) and is_named(node.value)


def test_no_release_is_named_outside_platforms(source):
    """Adding one is one file there; a list of some elsewhere would miss it."""
    wrong = []
    for module in outside(source):
        explained = docstrings(module.tree)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
                named = RELEASE.search(node.value)
                wrong += [f"{module.name}:{node.lineno}: {named[0]}"] if named else []

    assert wrong == []


def test_no_code_decides_by_the_name_of_a_distribution(source):
    """`cluster.platform` has a field for what the name would have told."""
    wrong = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in outside(source)
        if module.inside not in COMPARES
        for node in ast.walk(module.tree)
        if judges(node)
    ]

    assert wrong == []
