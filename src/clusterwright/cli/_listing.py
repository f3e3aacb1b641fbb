"""What a command's file says of it, read without running it."""

from __future__ import annotations

import ast
from pathlib import Path


def one_line(folder: str, name: str) -> str:
    """The first line of the command's docstring, or the help of its App; empty where it has neither."""
    tree = ast.parse(Path(folder, f"{name}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return (ast.get_docstring(node) or "").split("\n", 1)[0]
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return _help_of(node.value)
    return ""


def _help_of(call: ast.expr) -> str:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    found = (word.value for word in keywords if word.arg == "help")
    return next((str(value.value) for value in found if isinstance(value, ast.Constant)), "")
