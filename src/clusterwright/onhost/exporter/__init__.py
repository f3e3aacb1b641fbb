"""What one host measures of itself, for Prometheus: the standard library alone, Python 3.8."""
