"""Sizing of a cluster for a workload and a deadline: GPUs, nodes and a bill of materials."""
