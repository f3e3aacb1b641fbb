"""A diagnosis, as it is shown, saved as JSON and used by self-healing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line of a log that supports a diagnosis."""

    source: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause of a failure, its subject, confidence, evidence and fix."""

    kind: str  # class of the failure; `unknown` if no failure mode matches
    mode: str
    role: str
    cause: str
    subject: Mapping[str, str]  # host, gpu, path, rank, peer, as far as known
    confidence: float
    evidence: tuple[Evidence, ...]
    fix: str
    retry: str
    exclude: str = ""  # the host that must not be allocated again
    verify: str = ""  # how to verify it, where only the job's user wrote what shows it
    sightings: int = field(default=1, compare=False)  # number of matching lines, quoted as evidence or not

    def table(self) -> dict[str, Any]:
        """Return the diagnosis as values for JSON."""
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
            "verify": self.verify,
        }


def document(diagnoses: list[Diagnosis]) -> dict[str, Any]:
    """Return the JSON document of all diagnoses."""
    return {"schema": SCHEMA, "diagnoses": [diagnosis.table() for diagnosis in diagnoses]}
