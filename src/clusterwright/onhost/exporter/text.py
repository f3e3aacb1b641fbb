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
            self.samples.append(
                ({name: _label(name, str(label_value)) for name, label_value in labels.items()}, value)
            )
        return self


def gauge(name: str, meaning: str) -> Family:
    """What may rise and fall."""
    return Family(name, "gauge", meaning)


def counter(name: str, meaning: str) -> Family:
    """What only rises, until it begins anew."""
    return Family(name, "counter", meaning)


def _label(name: str, text: str) -> str:
    return clean(text, MOST_NAME if name == "name" else MOST)


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
    for family in families:
        merged = joined.setdefault(family.name, family)
        if merged is not family:
            merged.samples += family.samples
    lines: List[str] = []
    for family in joined.values():
        if family.samples:
            meaning = family.meaning.replace("\\", "\\\\").replace("\n", "\\n")
            lines += [f"# HELP {family.name} {meaning}", f"# TYPE {family.name} {family.kind}"]
            lines += [_line(family.name, labels, value) for labels, value in family.samples]
    return "".join(f"{line}\n" for line in lines)


def _line(name: str, labels: Dict[str, str], value: float) -> str:
    labels_text = ",".join(f'{label}="{escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{labels_text}}} {number(value)}" if labels_text else f"{name} {number(value)}"


def number(value: float) -> str:
    """As Prometheus reads it: whole ones whole, and +Inf, -Inf, NaN in its own words."""
    value = float(value)
    if value != value:  # noqa: PLR0124 (only NaN differs from itself)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**63 else repr(value)
