"""A line in the log of a host, such as a monitoring system reacts to; there is nothing to undo."""

from clusterwright.lab.inside import must

OPTIONS = ("text",)
LASTS = False


def inject(lab, host, options):
    """Write the line."""
    must(lab, host, "logger", "--", options.get("text", "a fault of the example"))
    return lab


def undo(lab, _host, _options):
    """Change nothing: a line in a log stays."""
    return lab
