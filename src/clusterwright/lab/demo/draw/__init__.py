"""The report's pictures, as SVG text. Pure; the page's style sheet gives the colours."""
