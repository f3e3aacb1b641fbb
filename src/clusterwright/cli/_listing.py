"""The summary line of a command, parsed from its file without importing it."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def summary_line(folder: str, name: str) -> str:
    """Return the first line of a command's docstring, or the help of its App, without importing its module.

    Empty if it has neither.
    """
    module, package = Path(folder, f"{name}.py"), Path(folder, name, "__init__.py")
    text = (module if module.exists() else package).read_text(encoding="utf-8")
    # Parses only the command's own statement, to the next unindented line: parsing whole files takes ten times as long.
    statement = re.search(rf"^(?:def {name}\(|{name} = ).*?(?=^[^\s)]|\Z)", text, re.MULTILINE | re.DOTALL)
    node = ast.parse(statement[0]).body[0] if statement else None
    if isinstance(node, ast.FunctionDef):
        return (ast.get_docstring(node) or "").split("\n", 1)[0]
    return _help_of(node.value) if isinstance(node, ast.Assign) else ""


def _help_of(expression: ast.expr) -> str:
    keywords = expression.keywords if isinstance(expression, ast.Call) else []
    help_values = (keyword.value for keyword in keywords if keyword.arg == "help")
    return next((str(value.value) for value in help_values if isinstance(value, ast.Constant)), "")
