"""Render the report's drawings as SVG text. Pure; the page's style sheet defines the colors."""
