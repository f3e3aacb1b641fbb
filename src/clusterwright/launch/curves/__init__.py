"""The curves of a training as one page, which anybody can keep and send."""

from clusterwright.launch.curves.page import render_page

__all__ = ["render_page"]
