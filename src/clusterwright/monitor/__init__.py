"""The state of the cluster: snapshots, the screen, the web page, reports, and the simulation of settings."""

from clusterwright.monitor.reports import job_report, month_report

__all__ = ["job_report", "month_report"]
