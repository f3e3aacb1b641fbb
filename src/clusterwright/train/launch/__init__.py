"""A job file becomes a script that stands alone, and is submitted. Pure but for submit."""
