"""What hosts run to start a step in an image. Sent as text; standard library only, Python 3.6 or later."""
