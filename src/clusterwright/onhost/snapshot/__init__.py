"""Collects a snapshot of the cluster on the controller."""
