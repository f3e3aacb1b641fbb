"""What is watched, as data: alerts, recorded series, dashboards; each file is one."""
