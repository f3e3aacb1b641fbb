"""What Slurm reports and takes: nodes, jobs, their states, drain reasons, command lines.

Used by operators' commands and by programs on hosts: standard library alone, Python 3.6, text in and values out.
"""
