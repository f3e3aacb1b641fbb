"""The provisioning agent, which `wright apply` sends to each host as one script; standard library only."""
