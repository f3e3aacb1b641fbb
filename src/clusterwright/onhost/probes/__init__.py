"""Scripts sent to a host as text: standard library only, Python 3.6 or later."""
