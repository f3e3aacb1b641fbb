"""nvidia-smi of a lab's hosts: standard library over libnvidia-ml.so.1, so it says what that library says.

It is carried to the hosts as a zip file that Python runs, and imports nothing of ours but this folder.
"""
