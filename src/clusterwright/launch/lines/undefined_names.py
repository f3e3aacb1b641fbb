"""Names that a script reads and nowhere defines or imports: the compiler's own scopes, without running anything."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

from clusterwright.i18n import _
from clusterwright.launch.lines.source import Script

_OF_MODULES = frozenset(
    {
        "__file__",
        "__name__",
        "__doc__",
        "__spec__",
        "__package__",
        "__loader__",
        "__path__",
        "__builtins__",
        "__annotations__",
        "__class__",
        "__conditional_annotations__",
        "profile",
    }
)
# Names that can come from anywhere, if a script reads or calls one of these.
_DYNAMIC = frozenset({"exec", "eval", "globals", "vars", "setattr", "__builtins__", "builtins"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MODULES = (
    "os sys time math json random argparse logging torch torchvision deepspeed socket subprocess shutil re copy "
    "datetime glob signal"
)
_FROM = {
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP",
    "DataLoader": "from torch.utils.data import DataLoader",
    "Dataset": "from torch.utils.data import Dataset",
    "DistributedDataParallel": "from torch.nn.parallel import DistributedDataParallel",
    "DistributedSampler": "from torch.utils.data.distributed import DistributedSampler",
    "F": "import torch.nn.functional as F",
    "GradScaler": "from torch.amp import GradScaler",
    "Path": "from pathlib import Path",
    "autocast": "from torch.amp import autocast",
    "datasets": "from torchvision import datasets",
    "dist": "import torch.distributed as dist",
    "models": "from torchvision import models",
    "mp": "import torch.multiprocessing as mp",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "optim": "from torch import optim",
    "partial": "from functools import partial",
    "pd": "import pandas as pd",
    "tqdm": "from tqdm import tqdm",
    "transforms": "from torchvision import transforms",
}
IMPORTS = {**_FROM, **{name: f"import {name}" for name in _MODULES.split()}}


@dataclass(frozen=True, slots=True)
class UndefinedName:
    """A name that a script reads, and the first line that reads it."""

    name: str
    line: int

    def message(self, script: str) -> str:
        """Return one sentence with the script, the line, the name and the fix, such as the import to add."""
        values = {"script": script, "line": self.line, "name": self.name}
        if fix := IMPORTS.get(self.name):
            return _("{script}:{line}: `{name}` is not defined; add `{fix}`", fix=fix, **values)
        return _("{script}:{line}: `{name}` is not defined; define or import it", **values)


def undefined_names(script: Script) -> tuple[UndefinedName, ...]:
    """Return the undefined names by line; none where names can come from elsewhere: `import *`, `globals()`.

    Names that begin with `_` and have `__` later, and names read in a `try` that catches NameError, are left out.
    """
    if script.tree is None or _is_dynamic(script.tree):
        return ()
    table = symtable.symtable(script.text, script.name, "exec")
    defined = _OF_MODULES | set(dir(builtins)) | set(_defined(table))
    guarded = set(_guarded(script.tree))
    lines: dict[str, int] = {}
    for name, scope in _read(table, script.tree):
        if name in defined or name in guarded or (name.startswith("_") and "__" in name[1:]):
            continue
        line = _line(name, scope)
        if line is not None:
            lines[name] = min(line, lines.get(name, line))
    return tuple(UndefinedName(name, line) for name, line in sorted(lines.items(), key=lambda item: item[1]))


def _is_dynamic(tree: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
        or (isinstance(node, ast.Name) and node.id in _DYNAMIC)
        for node in ast.walk(tree)
    )


def _defined(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names that the module defines, also by `global` in its functions."""
    is_module = table.get_type() == "module"
    for symbol in table.get_symbols():
        is_bound = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
        if is_bound and (is_module or symbol.is_declared_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _defined(child)


def _read(table: symtable.SymbolTable, scope: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield each global name that is read, with the node of the function, class or module that reads it."""
    for symbol in table.get_symbols():
        # symtable takes a function named `top` for the module, whose local names it calls global too
        is_global = symbol.is_global() and not symbol.is_local()
        if symbol.is_referenced() and (is_global or table.get_type() == "module"):
            yield symbol.get_name(), scope
    for child in table.get_children():
        yield from _read(child, _scope(child, scope))


def _scope(table: symtable.SymbolTable, scope: ast.AST) -> ast.AST:
    """Return the node of a child's scope; a comprehension or lambda belongs to the scope around it."""
    for node in ast.walk(scope):
        if isinstance(node, _SCOPES) and node.name == table.get_name() and node is not scope:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if start <= table.get_lineno() <= node.body[0].lineno:
                return node
    return scope


def _line(name: str, scope: ast.AST) -> int | None:
    """Return the first line of the scope itself, not of functions in it, that reads the name; None without one.

    Annotations do not count, as they may never be evaluated.
    """
    reads = [
        node.lineno
        for node in _scope_nodes(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return min(reads, default=None)


def _scope_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope without the bodies of functions and classes in it, and without annotations."""
    pending = [child for field, child in _children(scope) if field not in ("decorator_list", "bases")]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _SCOPES):
            pending += [child for field, child in _children(node) if field != "body"]
        else:
            pending += [child for _field, child in _children(node)]


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_params", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield field, child


def _guarded(tree: ast.Module) -> Iterator[str]:
    """Yield the names that are read in a `try` whose handler catches NameError."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(map(_catches, node.handlers)):
            for child in ast.walk(ast.Module(node.body, [])):
                if isinstance(child, ast.Name):
                    yield child.id


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"NameError", "Exception", "BaseException"})
