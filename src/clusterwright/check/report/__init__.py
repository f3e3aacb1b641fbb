"""The acceptance report: an HTML page that a buyer can sign, the same data as JSON, and metrics for Prometheus."""

from clusterwright.check.report.acceptance_page import render_page
from clusterwright.check.report.findings import Findings, findings
from clusterwright.check.report.metrics import metrics

__all__ = ["Findings", "findings", "metrics", "render_page"]
