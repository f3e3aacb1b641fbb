"""How a report's records are fetched: one program on the control host asks Slurm, Prometheus and the runs' folders."""

from clusterwright.monitor.fetch.fetch import Fetched, of_job, of_month

__all__ = ["Fetched", "of_job", "of_month"]
