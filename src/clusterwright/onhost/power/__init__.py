"""What switches hosts off and on: runs on the control host, standard library only, Python 3.6 or later."""
