"""Simulated GPUs: a host's libnvidia-ml.so.1 and nvidia-smi, and the state file that both answer from.

The state is text, one `key value` a line, of which the last line of a key counts. It is put together from what
the host was made with and from one small file for each thing that was done to it since: see `state`.
"""
