"""Samples by their number, out of files of several forms; each file of the folder one form.

A dataset here has a length and gives any sample by its number, so a Sampler can deal it out, and go on exactly where it
was, on any number of ranks. What it was made of is its `fingerprint`.
"""

from clusterwright.runtime.datasets.bad import BadSampleError, Tolerant
from clusterwright.runtime.datasets.images import Images
from clusterwright.runtime.datasets.jsonl import Jsonl
from clusterwright.runtime.datasets.parquet import Parquet
from clusterwright.runtime.datasets.tar import Tar
from clusterwright.runtime.datasets.windows import Windows

__all__ = ["BadSampleError", "Images", "Jsonl", "Parquet", "Tar", "Tolerant", "Windows"]
