"""Files of Prometheus, Alertmanager and Grafana, as text; pure."""
