"""Verbs between hosts, rail by rail."""
