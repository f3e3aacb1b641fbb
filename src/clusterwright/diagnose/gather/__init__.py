"""Gather records and logs about a job or a node from the cluster, as sources of lines for the judge."""
