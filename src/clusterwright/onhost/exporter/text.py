"""Metric families, and their text in Prometheus' exposition format 0.0.4. Pure."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Tuple

from clusterwright.onhost.lib.safe_names import safe_name

PREFIX = "clusterwright_"
MOST = 200  # characters of a label value: paths, drain reasons
MOST_NAME = 64  # characters of the label `name`: users choose job names
# Labels whose values users write and that alerts put into commands to copy.
_NAMES = frozenset({"host", "job", "run"})


class Family:
    """One metric family: its name, kind (`gauge`, `counter`), help text and samples."""

    def __init__(self, name: str, kind: str, meaning: str) -> None:
        self.name, self.kind, self.meaning = PREFIX + name, kind, meaning
        self.samples: List[Tuple[Dict[str, str], float]] = []

    def add(self, value: Optional[float], **labels: object) -> Family:
        """Add a sample with these labels to the metric family, unless the value is None; return the family."""
        if value is not None:
            self.samples.append(
                ({name: _label(name, str(label_value)) for name, label_value in labels.items()}, value)
            )
        return self


def gauge(name: str, meaning: str) -> Family:
    """Return an empty metric family of kind gauge."""
    return Family(name, "gauge", meaning)


def counter(name: str, meaning: str) -> Family:
    """Return an empty metric family of kind counter."""
    return Family(name, "counter", meaning)


def _label(name: str, text: str) -> str:
    text = safe_name(text) if name in _NAMES else text
    return clean(text, MOST_NAME if name == "name" else MOST)


def clean(text: str, most: int = MOST_NAME) -> str:
    """Return a text without unprintable characters, truncated to `most` characters: job names are untrusted."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(letter for letter in text if letter.isprintable())
    return text[:most]


def escaped(text: str) -> str:
    """Return a text escaped as a Prometheus label value."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def rendered(families: Iterable[Family]) -> str:
    """Return metric families in Prometheus's text format; empty ones are left out, those of one name merged."""
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
    """Return a number as text for Prometheus: integers without a decimal point, +Inf, -Inf, NaN."""
    value = float(value)
    if value != value:  # noqa: PLR0124 (only NaN differs from itself)
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**63 else repr(value)
