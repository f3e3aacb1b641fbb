"""What a change of the cluster is: between two files, in a file's text, on the hosts, step by step. Pure."""
