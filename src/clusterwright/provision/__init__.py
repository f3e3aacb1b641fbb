"""From the cluster file to files and changes on hosts: render, roles, agent, apply, receipt."""
