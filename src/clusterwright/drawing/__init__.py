"""Pictures and the pages they stand on: SVG and HTML as text, one file, no script, nothing fetched."""
