"""The web page of `wright web`: the cluster's state and history, for many viewers."""
