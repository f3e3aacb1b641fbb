"""Power control of hosts: runs on the controller, standard library only, Python 3.6 or later."""
