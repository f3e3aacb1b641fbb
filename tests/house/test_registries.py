"""A launcher or framework is defined by its file: no other code depends on its name; supervisors read job.json."""

import ast

from clusterwright.onhost.adapters import registry


def test_nothing_is_decided_by_the_name_of_a_launcher_or_a_framework(source):
    """Differences between them are fields of `Launcher` or `Adapter`."""
    names = {*registry.launcher_names(), *registry.framework_names()}
    wrong = [
        f"{module.name}:{node.lineno}: {ast.unparse(node)}"
        for module in source
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Compare) and about_a_choice(node.left) and constants(node.comparators) & names
    ]

    assert wrong == []


def about_a_choice(node):
    """Return whether a node is `launcher`, `framework`, or a field of that name."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    return name in ("launcher", "framework")


def constants(nodes):
    """Return all constants in these nodes."""
    return {one.value for node in nodes for one in ast.walk(node) if isinstance(one, ast.Constant)}


def test_supervisors_take_no_options(source):
    """Supervisors read job.json in the run's folder instead."""
    parsing = [
        f"{module.name}:{line}"
        for module in source
        for line, name in module.imports
        if module.inside.startswith("onhost/supervisor/") and name == "argparse"
    ]

    assert parsing == []
