"""A snapshot of the cluster, taken on the control host."""
