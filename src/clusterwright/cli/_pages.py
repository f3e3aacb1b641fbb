"""The page of each error code: one Markdown file in `clusterwright/codes`, shown by `wright explain`."""

from __future__ import annotations

from importlib.resources import files


def pages() -> dict[str, str]:
    """Code to page, by code."""
    folder = files("clusterwright").joinpath("codes")
    markdown_files = (
        (entry.name.removesuffix(".md"), entry) for entry in folder.iterdir() if entry.name.endswith(".md")
    )
    return {
        code: entry.read_text(encoding="utf-8")
        for code, entry in sorted(markdown_files, key=lambda pair: pair[0])
    }
