"""Generate onhost/supervisor/job_fields.py: the sections of a job file as named tuples for programs on hosts."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from clusterwright.config.field import Section
from clusterwright.config.job import Job

_HEAD = '''"""The fields of a job as job.json holds them; made from config/job.py by clusterwright.cli._reference."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Tuple, Union
'''


def source() -> str:
    """Return the text of the module; each section follows the sections that it contains."""
    sections: dict[str, str] = {}
    _collect(Job, sections)
    return "\n\n".join([_HEAD, *sections.values()])


def _collect(section: type[Section], sections: dict[str, str]) -> None:
    lines = []
    for name, field in section.model_fields.items():
        if field.exclude:
            continue
        for inner in _sections(field.annotation):
            _collect(inner, sections)
        lines.append(f"    {name}: {_type(field.annotation)}\n")
    summary = (section.__doc__ or "").partition("\n")[0]
    text = f'class {section.__name__}Fields(NamedTuple):\n    """{summary}"""\n\n{"".join(lines)}'
    sections.setdefault(section.__name__, text)


def _sections(kind: Any) -> list[type[Section]]:
    """Return the Section classes inside a type annotation."""
    if isinstance(kind, type) and issubclass(kind, Section):
        return [kind]
    return [section for inner in get_args(kind) for section in _sections(inner)]


def _type(kind: Any) -> str:
    """Format a type annotation for Python 3.8."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return _union(type(value).__name__ for value in inner)
    if origin in (Union, types.UnionType):
        return _union(_type(argument) for argument in inner)
    if origin is tuple:
        return f"Tuple[{_type(inner[0])}, ...]"
    if origin is dict:
        return f"Dict[str, {_type(inner[1])}]"
    return f"{kind.__name__}Fields" if _sections(kind) else str(kind.__name__)


def _union(names: Any) -> str:
    different = list(dict.fromkeys(names))
    some = [name for name in different if name != "NoneType"]
    text = some[0] if len(some) == 1 else f"Union[{', '.join(some)}]"
    return text if some == different else f"Optional[{text}]"
