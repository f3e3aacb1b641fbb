"""The faults of the plug-in: one a file, for `wright lab fault`."""
