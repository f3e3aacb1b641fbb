"""Parses Slurm's output and builds its command lines: nodes, jobs, states, drain reasons.

Shared by the command line tool and programs on hosts: standard library only, Python 3.6, without side effects.
"""
