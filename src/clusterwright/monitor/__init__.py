"""Collectors, alert rules, dashboards, reports."""
