"""The notifier on the controller: sends alerts to chat channels and Zabbix, and watches monitoring itself.

Standard library only, Python 3.10 or later; installed beside what jobs import.
"""
