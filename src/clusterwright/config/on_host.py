"""Generate onhost/supervisor/job_fields.py: the sections of a job file as named tuples for programs on hosts.

Fields with a default have it there too, so that the record of a run from before the field existed can be read.
"""

from __future__ import annotations

import json
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import create_model

from clusterwright.config.field import Section
from clusterwright.config.job import Job

_HEAD = '''"""The fields of a job as job.json holds them; made from config/job.py by clusterwright.cli._reference."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

_EMPTY: Dict[str, Any] = {}
'''


def source() -> str:
    """Return the text of the module; each section follows the sections that it contains."""
    sections: dict[str, str] = {}
    _collect(Job, sections)
    return "\n\n".join([_HEAD, *sections.values()])


def _collect(section: type[Section], sections: dict[str, str]) -> None:
    lines, defaults = [], _defaults(section)
    for name, field in section.model_fields.items():
        if field.exclude:
            continue
        for inner in _sections(field.annotation):
            _collect(inner, sections)
        default = f" = {defaults[name]}" if name in defaults else ""
        lines.append(f"    {name}: {_type(field.annotation)}{default}\n")
    lines.sort(key=lambda line: " = " in line)  # a named tuple has the fields without a default first
    summary = (section.__doc__ or "").partition("\n")[0]
    text = f'class {section.__name__}Fields(NamedTuple):\n    """{summary}"""\n\n{"".join(lines)}'
    sections.setdefault(section.__name__, text)


def _defaults(section: type[Section]) -> dict[str, str]:
    """Return the default of each field that has one, as Python source."""
    optional: dict[str, Any] = {
        name: (field.annotation, field)
        for name, field in section.model_fields.items()
        if not field.exclude and not field.is_required()
    }
    defaults = create_model(section.__name__, __base__=Section, **optional)()
    document = defaults.model_dump(mode="json")
    return {name: _literal(getattr(defaults, name), document[name]) for name in optional}


def _literal(value: Any, dumped: Any) -> str:
    if isinstance(dumped, str):
        return json.dumps(dumped)
    if not isinstance(value, Section):
        return "_EMPTY" if dumped == {} else repr(tuple(dumped) if isinstance(dumped, list) else dumped)
    defaults = _defaults(type(value))
    texts = {name: _literal(getattr(value, name), inner) for name, inner in dumped.items()}
    different = (f"{name}={text}" for name, text in texts.items() if defaults.get(name) != text)
    return f"{type(value).__name__}Fields({', '.join(different)})"


def _sections(kind: Any) -> list[type[Section]]:
    """Return the Section classes inside a type annotation, such as those of a union; empty if there are none."""
    if isinstance(kind, type) and issubclass(kind, Section):
        return [kind]
    return [section for inner in get_args(kind) for section in _sections(inner)]


def _type(kind: Any) -> str:
    """Return a type annotation as source text for Python 3.8, such as `Optional[Tuple[str, ...]]`."""
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
