"""Parse one rank's dump: its last collectives by process group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any

from clusterwright.diagnose.flight.values import values
from clusterwright.diagnose.reading.line import clean
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import parse_document

_PICKLE = b"\x80"
_LONGEST = 120  # characters of a name: a dump is untrusted
_MAX_NUMBER = 2**63
_BRIEF = Repr()
_BRIEF.maxlevel, _BRIEF.maxlist, _BRIEF.maxtuple, _BRIEF.maxdict = 3, 32, 32, 8


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that the rank called: name, input sizes, whether it completed, and the calling line."""

    name: str
    sizes: str
    is_completed: bool
    location: str = ""


@dataclass(frozen=True, slots=True)
class Dump:
    """Collectives by process group and sequence number, and the ranks of each group where the dump has them."""

    groups: Mapping[str, Mapping[int, Collective]]
    ranks: Mapping[str, frozenset[int]] = field(default_factory=dict)


def dump(data: bytes, check: Callable[[], None] = lambda: None) -> Dump:
    """Return the parsed dump of a flight recorder, a pickle or JSON; `check` may end it by an exception of its own.

    Raises:
        ValueError: the data is neither.
    """
    document = values(data, check) if data.startswith(_PICKLE) else parse_document(data)
    if not isinstance(document, Mapping) or not isinstance(document.get("entries"), list | tuple):
        raise ValueError(_("the file has no `entries`: it is not a dump of the flight recorder"))  # noqa: TRY004 (of a file)
    groups: dict[str, dict[int, Collective]] = {}
    for entry in document["entries"]:
        check()
        if isinstance(entry, Mapping) and not entry.get("is_p2p") and _number(entry):
            groups.setdefault(_group(entry), {})[_number(entry)] = _collective(entry)
    config = document.get("pg_config")
    return Dump(groups, _ranks(config, check) if isinstance(config, Mapping) else {})


def _number(entry: Mapping[str, Any]) -> int:
    number = entry.get("collective_seq_id")
    return number if isinstance(number, int) and 0 < number < _MAX_NUMBER else 0


def _group(entry: Mapping[str, Any]) -> str:
    """Return `NUMBER:DESCRIPTION` of a collective's process group; empty if the entry names no group.

    Several groups may have the same description.
    """
    group = entry.get("process_group")
    parts = list(group) if isinstance(group, list | tuple) else [entry.get("pg_id", "")]
    return _text(":".join(_brief(part) for part in parts if part not in ("", "undefined")))


def _collective(entry: Mapping[str, Any]) -> Collective:
    name = _brief(entry.get("profiling_name", "?")).rpartition(":")[2]
    is_completed = entry.get("state") == "completed" or bool(entry.get("retired"))
    return Collective(
        _text(name), _text(_brief(entry.get("input_sizes", ""))), is_completed, _location(entry.get("frames"))
    )


def _location(frames: Any) -> str:
    """Return the innermost frame outside Python's library and torch as `FILE:LINE (FUNCTION)`; empty without one."""
    for frame in frames if isinstance(frames, list | tuple) else ():
        file = _brief(frame.get("filename", "")) if isinstance(frame, Mapping) else ""
        if file and "/lib/python" not in file and "<" not in file and "/torch/" not in file:
            return _text(
                f"{file.rpartition('/')[2]}:{_brief(frame.get('line'))} ({_brief(frame.get('name'))})"
            )
    return ""


def _ranks(config: Mapping[Any, Any], check: Callable[[], None]) -> dict[str, frozenset[int]]:
    """Return ranks by `number:description` and by description, as not all releases of PyTorch write both.

    Groups whose ranks cannot be parsed are left out.
    """
    ranks_by_group = {}
    for key, group_config in config.items():
        check()
        if not isinstance(group_config, Mapping):
            continue
        rank_list = group_config.get("ranks")
        try:
            ranks = frozenset(
                int(rank)
                for rank in (parse_document(rank_list) if isinstance(rank_list, str) else rank_list or ())
            )
        except (ValueError, TypeError):
            continue
        description = _brief(group_config.get("desc", ""))
        ranks_by_group[_text(f"{_brief(key)}:{description}".strip(":"))] = ranks
        ranks_by_group[_text(description)] = ranks
    return ranks_by_group


def _text(text: str) -> str:
    return clean(text[: 8 * _LONGEST].encode("utf-8", "replace"))[:_LONGEST]


def _brief(value: Any) -> str:
    """Return a value as text, of nested lists only a part: a pickle can put one list into another again and again."""
    return value if isinstance(value, str) else _BRIEF.repr(value)
