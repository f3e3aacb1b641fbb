"""The acceptance report: one page that a buyer can sign, the same as JSON, and metrics for the monitors."""

from clusterwright.check.report.acceptance_page import render_page
from clusterwright.check.report.findings import Findings, findings
from clusterwright.check.report.metrics import metrics

__all__ = ["Findings", "findings", "metrics", "render_page"]
