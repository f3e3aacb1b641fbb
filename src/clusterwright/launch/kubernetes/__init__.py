"""Render Kubernetes manifests from the cluster and job files, without connecting to a server."""
