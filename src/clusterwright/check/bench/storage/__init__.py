"""The shared folder, and local disks."""
