"""What the judge says, in the form in which it is shown, saved and acted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line that a diagnosis rests on, with its place."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause: what it is and whose, how sure, the lines it rests on, and what to do."""

    kind: str  # the class; `unknown` where nothing is recognised
    mode: str
    role: str
    cause: str
    subject: Mapping[str, str]  # host, gpu, path, rank, peer, as far as they are known
    confidence: float
    evidence: tuple[Evidence, ...]
    fix: str
    retry: str
    exclude: str = ""  # the host that must not be given out again
    sightings: int = field(default=1, compare=False)  # lines that tell of it, quoted or not

    def table(self) -> dict[str, Any]:
        """As it stands in the JSON document."""
        return {
            "class": self.kind,
            "mode": self.mode,
            "role": self.role,
            "cause": self.cause,
            "subject": dict(self.subject),
            "confidence": round(self.confidence, 2),
            "evidence": [
                {"source": evidence.source, "line": evidence.line, "text": evidence.text}
                for evidence in self.evidence
            ],
            "fix": self.fix,
            "retry": self.retry,
            "exclude": self.exclude,
        }


def document(diagnoses: list[Diagnosis]) -> dict[str, Any]:
    """The whole answer."""
    return {"schema": SCHEMA, "diagnoses": [diagnosis.table() for diagnosis in diagnoses]}
