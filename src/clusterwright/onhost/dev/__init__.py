"""What `wright dev` runs on the cluster: beside the queue, and inside the job (standard library, Python 3.8)."""
