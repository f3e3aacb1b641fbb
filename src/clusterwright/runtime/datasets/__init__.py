"""Map-style datasets over files, one module per file format.

A dataset has a length and returns any sample by its index, so a Sampler can distribute it and resume exactly, on any
number of ranks. Its `fingerprint` identifies its files.
"""

from clusterwright.runtime.datasets.bad import BadSampleError, Tolerant
from clusterwright.runtime.datasets.images import Images
from clusterwright.runtime.datasets.jsonl import Jsonl
from clusterwright.runtime.datasets.parquet import Parquet
from clusterwright.runtime.datasets.tar import Tar
from clusterwright.runtime.datasets.windows import Windows

__all__ = ["BadSampleError", "Images", "Jsonl", "Parquet", "Tar", "Tolerant", "Windows"]
