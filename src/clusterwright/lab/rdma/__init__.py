"""Simulated RDMA ports: the files of /sys/class/infiniband that programs read, one device for each rail.

They carry no traffic: a job's data goes over the host's ordinary interfaces.
"""
