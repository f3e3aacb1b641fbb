"""RDMA verbs between hosts, rail by rail."""
