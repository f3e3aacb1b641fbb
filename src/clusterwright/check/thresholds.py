"""The numbers that a check decides by, and who says so: constants of its file, and the comments at them; pure."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator


def thresholds(source: str) -> Iterator[tuple[str, str]]:
    """Each number as it is written, with its comment; a number without one is no threshold."""
    comments = _comments(source)
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.BinOp)):
            said = _beside(node, comments) or _above(node.lineno, comments, source.splitlines())
            if said and _is_number(node.value):
                yield ast.get_source_segment(source, node.value) or "", said


def _is_number(node: ast.expr) -> bool:
    """A number, or several with units: `20 * GB`."""
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) or _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


def _beside(node: ast.Assign, comments: dict[int, str]) -> str:
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return " ".join(comments[line] for line in lines if line in comments)


def _above(line: int, comments: dict[int, str], text: list[str]) -> str:
    """The block of whole lines that ends right before."""
    first = line
    while first > 1 and text[first - 2].startswith("#"):
        first -= 1
    return " ".join(comments[each] for each in range(first, line))
