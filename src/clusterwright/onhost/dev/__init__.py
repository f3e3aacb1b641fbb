"""Programs of `wright dev` on the cluster: on the control host, and inside the job (standard library, Python 3.8)."""
