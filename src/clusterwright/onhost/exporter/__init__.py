"""The exporter of one host's metrics for Prometheus: standard library only, Python 3.8."""
