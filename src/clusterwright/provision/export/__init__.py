"""A cluster's files and what is done with them, for other tools: Ansible, containers. Pure."""
