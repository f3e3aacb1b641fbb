"""Diagnose failed runs, pending jobs and nodes: cause, evidence and fix."""
