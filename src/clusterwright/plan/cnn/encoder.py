"""A transformer that is trained like a convolutional network: a replica on each GPU, one length, no flash attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.parameters import count

if TYPE_CHECKING:
    from clusterwright.catalog.model import Architecture


@dataclass(frozen=True, slots=True)
class Encoder:
    """BERT and its like, on sequences padded to one length."""

    architecture: Architecture
    seq_len: int

    @property
    def parameters(self) -> float:
        """All weights."""
        return float(count(self.architecture).total)
