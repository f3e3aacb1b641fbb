"""Processes and files: each side has one way to start a program, and one way to replace a file."""

import ast

EDGES = ("edge/", "onhost/lib/", "lab/")


def renames(node):
    """Whether a call gives a file another name: `os.replace`, `os.rename`, or those of pathlib."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    one = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
    of_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
    return (node.func.attr in ("replace", "rename") and (of_os or one)) or node.func.attr == "renames"


def test_files_are_replaced_by_one_function(source):
    """`onhost.lib.files`: beside the target, on the disk, renamed over it; so no reader meets half a file."""
    wrong = [
        f"{module.name}:{node.lineno}: use onhost.lib.files"
        for module in source
        if not module.inside.startswith(EDGES)
        for node in ast.walk(module.tree)
        if renames(node)
    ]

    assert wrong == []


def test_programs_are_started_at_the_edges(source):
    """`edge.processes` here, `onhost.lib.processes` on hosts: with a limit, and ended with all that they started."""
    wrong = [
        f"{module.name}:{line}: use onhost.lib.processes"
        for module in source
        if not module.inside.startswith(EDGES)
        for line, name in module.imports
        if name == "subprocess"
    ]

    assert wrong == []
