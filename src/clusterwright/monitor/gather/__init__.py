"""How a picture is made: one program on the control host asks everything at once, and its answer is read here."""

from clusterwright.monitor.gather.gather import gather
from clusterwright.monitor.gather.kept import EVERY_S, Kept
from clusterwright.monitor.gather.reading import Known, picture_of

__all__ = ["EVERY_S", "Kept", "Known", "gather", "picture_of"]
