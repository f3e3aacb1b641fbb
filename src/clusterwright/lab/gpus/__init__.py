"""Simulated GPUs: a host's libnvidia-ml.so.1 and nvidia-smi, and the state file that both read.

The state is text, one `key value` a line; of a repeated key the last line counts. It is concatenated from the initial
state and one small file for each later change: see `state`.
"""
