"""The reference page of each error code: a Markdown file in `clusterwright/codes`, shown by `wright explain`."""

from __future__ import annotations

from importlib.resources import files


def pages() -> dict[str, str]:
    """Return the page of every error code, in Markdown, by code, sorted by code."""
    folder = files("clusterwright").joinpath("codes")
    markdown_files = (
        (entry.name.removesuffix(".md"), entry) for entry in folder.iterdir() if entry.name.endswith(".md")
    )
    return {
        code: entry.read_text(encoding="utf-8")
        for code, entry in sorted(markdown_files, key=lambda pair: pair[0])
    }
