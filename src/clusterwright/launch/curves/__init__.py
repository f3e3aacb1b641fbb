"""The training curves of a run as one self-contained HTML page."""

from clusterwright.launch.curves.page import render_page

__all__ = ["render_page"]
