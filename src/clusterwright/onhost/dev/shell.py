"""Nothing but the allocation: shells come into it by srun."""

from __future__ import annotations

from typing import Any, Dict, List


class Shell:
    """Holds the place."""

    def __init__(self, folder: str, wish: Dict[str, Any]) -> None:
        self.folder, self.wish = folder, wish
        self.notes: List[str] = []

    def start(self) -> None:
        """Nothing is to be begun."""

    def facts(self) -> Dict[str, Any]:
        """Nothing beside the job."""
        return {}

    def active(self, _now: float) -> float:
        """Nothing of its own: who works here computes, or types."""
        return 0.0

    def alive(self) -> bool:
        """As long as the job."""
        return True

    def stop(self) -> None:
        """Nothing is to be ended."""
