"""The two files a user writes, cluster.yaml and job.yaml: typed, frozen, every field with meaning, unit and cost."""
