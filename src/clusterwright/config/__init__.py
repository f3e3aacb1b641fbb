"""The two files a user writes, cluster.yaml and job.yaml: typed, frozen, each field with unit and cost."""
