"""Reports on a job, a team or the cluster: computed from records, rendered as text, HTML, CSV or JSON. Pure."""
