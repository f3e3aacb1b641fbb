"""Sends alerts and metrics to a site's Zabbix by its trapper protocol."""
