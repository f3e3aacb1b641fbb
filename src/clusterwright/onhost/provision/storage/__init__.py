"""Mount points, local disks and quotas on a host. Standard library only, Python 3.6 or later."""
