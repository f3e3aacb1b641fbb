"""Diagnose failed runs, pending jobs and nodes: cause, evidence and fix.

`log`, `job` and `host` return the diagnoses, the likeliest cause first.
"""

from clusterwright.diagnose.diagnosis import Diagnosis
from clusterwright.diagnose.subjects import host, job, log

__all__ = ["Diagnosis", "host", "job", "log"]
