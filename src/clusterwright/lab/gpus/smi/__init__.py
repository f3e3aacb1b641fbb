"""nvidia-smi of a lab's hosts: standard library over libnvidia-ml.so.1, so it reports what that library returns.

It is copied to the hosts as a zip file that Python runs, and imports only this folder.
"""
