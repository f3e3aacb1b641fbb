"""Fetch the data of reports: a program on the control host queries Slurm, Prometheus and the runs' folder."""

from clusterwright.monitor.fetch.fetch import Fetched, of_job, of_month

__all__ = ["Fetched", "of_job", "of_month"]
