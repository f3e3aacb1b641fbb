"""NFS between the hosts of a lab: nfs-ganesha is the server, the client runs in user space."""
