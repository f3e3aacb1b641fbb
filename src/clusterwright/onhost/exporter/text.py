"""Families of samples, and the text in which Prometheus reads them (exposition format 0.0.4). Pure."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Tuple

PREFIX = "clusterwright_"
MOST = 200  # letters of a label: paths, reasons of an administrator
MOST_NAME = 64  # of a label `name`: jobs, and so strangers, have them


class Family:
    """One metric: its kind (`gauge`, `counter`), what it means, and its samples."""

    def __init__(self, name: str, kind: str, meaning: str) -> None:
        self.name, self.kind, self.meaning = PREFIX + name, kind, meaning
        self.samples: List[Tuple[Dict[str, str], float]] = []

    def add(self, value: Optional[float], **labels: object) -> Family:
        """One more sample; none where nothing is known."""
        if value is not None:
            self.samples.append(({name: _label(name, str(said)) for name, said in labels.items()}, value))
        return self


def gauge(name: str, meaning: str) -> Family:
    """What may rise and fall."""
    return Family(name, "gauge", meaning)


def counter(name: str, meaning: str) -> Family:
    """What only rises, until it begins anew."""
    return Family(name, "counter", meaning)


def _label(name: str, said: str) -> str:
    return clean(said, MOST_NAME if name == "name" else MOST)


def clean(text: str, most: int = MOST_NAME) -> str:
    """Without control and direction marks, and no longer than that: names of jobs are strangers' text."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(letter for letter in text if letter.isprintable())
    return text[:most]


def escaped(text: str) -> str:
    """As it stands between the quotes of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def rendered(families: Iterable[Family]) -> str:
    """Whole families; one without samples is left out, one that comes twice is joined."""
    joined: Dict[str, Family] = {}
    for each in families:
        kept = joined.setdefault(each.name, each)
        if kept is not each:
            kept.samples += each.samples
    lines: List[str] = []
    for each in joined.values():
        if each.samples:
            meaning = each.meaning.replace("\\", "\\\\").replace("\n", "\\n")
            lines += [f"# HELP {each.name} {meaning}", f"# TYPE {each.name} {each.kind}"]
            lines += [_line(each.name, labels, value) for labels, value in each.samples]
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, labels: Dict[str, str], value: float) -> str:
    said = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{said}}} {number(value)}" if said else f"{name} {number(value)}"


def number(value: float) -> str:
    """As Prometheus reads it: whole ones whole, and +Inf, -Inf, NaN in its own words."""
    value = float(value)
    if value != value:  # noqa: PLR0124 (only NaN differs from itself)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**63 else repr(value)
