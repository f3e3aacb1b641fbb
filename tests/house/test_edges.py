"""Programs are started and files replaced by one function each, on the operator's machine and on hosts."""

import ast

EDGES = ("edge/", "onhost/lib/", "lab/")


def renames(node):
    """Return whether a call renames a file, by `os` or pathlib."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    one = len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)
    of_os = isinstance(node.func.value, ast.Name) and node.func.value.id == "os"
    return (node.func.attr in ("replace", "rename") and (of_os or one)) or node.func.attr == "renames"


def test_files_are_replaced_by_one_function(source):
    """Only `onhost.lib.files` renames: it writes next to the target, fsyncs and renames, so replacement is atomic."""
    wrong = [
        f"{module.name}:{node.lineno}: use onhost.lib.files"
        for module in source
        if not module.inside.startswith(EDGES)
        for node in ast.walk(module.tree)
        if renames(node)
    ]

    assert wrong == []


def test_programs_are_started_at_the_edges(source):
    """Only `edge.processes` and `onhost.lib.processes` (on hosts) start programs, with timeout and process group."""
    wrong = [
        f"{module.name}:{line}: use onhost.lib.processes"
        for module in source
        if not module.inside.startswith(EDGES)
        for line, name in module.imports
        if name == "subprocess"
    ]

    assert wrong == []
