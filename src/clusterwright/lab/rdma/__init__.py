"""Simulated RDMA ports: the files of /sys/class/infiniband that programs read, one device for each rail.

They carry nothing: what a job sends goes over the host's ordinary interfaces.
"""
