"""The page of `wright web`: what the cluster does now and did before, for many who look at once."""
