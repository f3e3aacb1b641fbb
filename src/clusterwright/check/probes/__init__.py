"""Scripts that run on a host: standard library only, Python 3.6 or later, sent as text; they import nothing of ours."""
