"""NFS between the hosts of a lab: nfs-ganesha serves, and a client in user space mounts."""
