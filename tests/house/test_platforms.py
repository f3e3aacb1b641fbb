"""Code depends on properties of a distribution; only platforms/ compares its name."""

import ast
import re

from clusterwright.platforms import platform_names

KINDS = "|".join({name.partition("-")[0] for name in platform_names()})
RELEASE = re.compile(rf"\b({KINDS}|rhel)-[0-9]|^({KINDS})$")
NAMED = {"os", "platform.name", "platform.family", "platform.gpu_packages"}
COMPARES = {  # each compares a host's, a bundle's or a repository's distribution with that of the cluster file
    "adopt/express.py",
    "check/checks/os_as_declared.py",
    "config/repositories.py",
    "provision/package_bundle/gather.py",
    "provision/package_bundle/manifest.py",
}


def outside(source):
    """Return the modules outside platforms/."""
    return [module for module in source if not module.inside.startswith("platforms/")]


def docstrings(tree):
    """Return the docstring nodes of a tree, as ids."""
    bodies = [node.body for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    return {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}


def is_named(node):
    """Return whether a node reads the name of a cluster's distribution."""
    text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
    return any(text.endswith(f".{name}") for name in NAMED)


def judges(node):
    """Return whether a node compares or splits a distribution's name; a lookup in a table's row may."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(is_named, sides)) and not any("row[" in ast.unparse(side) for side in sides)
    return isinstance(node, ast.Attribute) and is_named(node.value)


def test_no_release_is_named_outside_platforms(source):
    """A new release is one new file in platforms/, so no other module may list releases."""
    wrong = []
    for module in outside(source):
        explained = docstrings(module.tree)
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
                named = RELEASE.search(node.value)
                wrong += [f"{module.name}:{node.lineno}: {named[0]}"] if named else []

    assert wrong == []


def test_no_code_decides_by_the_name_of_a_distribution(source):
    """Code reads the fields of `cluster.platform` instead."""
    wrong = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in outside(source)
        if module.inside not in COMPARES
        for node in ast.walk(module.tree)
        if judges(node)
    ]

    assert wrong == []
