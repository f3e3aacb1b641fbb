"""Monitoring as data: alerts, recording rules, dashboards and figures."""
