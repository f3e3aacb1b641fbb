"""The text of an adopted cluster file: its values as YAML with comments, then the lines that it does not hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusterwright.adopt.express import Adopted
from clusterwright.config.source import printable
from clusterwright.i18n import _

_UNQUOTED = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_YAML_LITERALS = frozenset(
    {"yes", "no", "true", "false", "on", "off", "null", "y", "n"}
)  # YAML reads them as other types
_WIDTH = 100


def document(adopted: Adopted, source: str) -> str:
    """Return the text of the cluster file: a head, a section a paragraph, what is not known, and the lines left out."""
    sections = "\n".join(
        f"{_comment(_about(key))}{''.join(_lines(key, value, 0))}" for key, value in adopted.values.items()
    )
    return f"{_comment(_head(source))}\n{sections}{_tail(adopted)}"


def _head(source: str) -> str:
    return _(
        "Written by `wright adopt` from {source}. Nothing was changed on the hosts. `wright explain FIELD` shows the"
        " meaning of a field.",
        source=source,
    )


def _about(key: str) -> str:
    texts = {
        "manage": _(
            "Roles that Clusterwright applies: none yet. Add a role, such as monitoring, and"
            " `wright apply --dry-run` shows what it would change; all other roles are never applied."
        ),
        "slurm": _(
            "Settings of the site's slurm.conf. `defaults: slurm` means that keys which are not here have Slurm's own"
            " default."
        ),
        "nodes": _("Hosts with the same NodeName values in the same partitions are one group."),
    }
    return texts.get(key, "")


def _tail(adopted: Adopted) -> str:
    text = ""
    if adopted.placeholders:
        text += "\n" + _comment(
            _("Not known, so these fields have placeholders; set them before a role needs them:")
        )
        text += "".join(f"#   {field}\n" for field in adopted.placeholders)
    if adopted.left_out:
        text += "\n" + _comment(_("Lines of the site's files that this file does not hold:"))
        text += "".join(f"#   {printable(' '.join(str(line).split()))}\n" for line in adopted.left_out)
    return text


def _comment(text: str) -> str:
    return f"# {text}\n" if text else ""


def _lines(key: str, value: Any, indent: int) -> Iterator[str]:
    """Yield the lines of YAML for a key and its value, indented by `indent` spaces.

    A short mapping, or a short list without mappings, is one line.
    """
    start = f"{' ' * indent}{_scalar(key)}:"
    inline = f"{start} {_inline(value)}\n"
    has_sections = isinstance(value, Mapping) and any(isinstance(item, Mapping) for item in value.values())
    if isinstance(value, list) and len(inline) > _WIDTH:
        yield f"{start}\n"
        yield from (f"{' ' * (indent + 2)}- {_inline(item)}\n" for item in value)
        return
    if not isinstance(value, Mapping) or not value or (len(inline) <= _WIDTH and not has_sections):
        yield inline
        return
    yield f"{start}\n"
    for name, item in value.items():
        yield from _lines(name, item, indent + 2)


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {_inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and (not _UNQUOTED.fullmatch(value) or value.lower() in _YAML_LITERALS):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
