"""Exports of a cluster's files and steps for other tools: Ansible and containers."""
