"""Code that runs on hosts: Python 3.6 or 3.8 and its standard library only; sent over SSH or installed by apply."""
