"""Render drawings and pages as text: SVG and HTML in one file, without scripts or external resources."""
