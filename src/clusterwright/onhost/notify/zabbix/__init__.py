"""Alerts and figures to a site's Zabbix, as its trapper takes them."""
