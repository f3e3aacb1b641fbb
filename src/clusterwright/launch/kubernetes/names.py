"""Names that Kubernetes takes, from ours."""

from __future__ import annotations

import re

from clusterwright.errors import EXIT_USAGE, WrightError

# RFC 1123: 63 is the longest label. A JobSet makes NAME-node-0-NUMBER of it, and names hosts so.
LONGEST, LONGEST_JOB = 63, 63 - len("-node-0-65535")


def label(text: str, longest: int = LONGEST) -> str:
    """Lower case, with a hyphen for what is no letter and no digit.

    Raises:
        WrightError: nothing is left, or it is too long.
    """
    found = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not found or len(found) > longest:
        raise WrightError.of(
            "kubernetes-name",
            f"`{text}` makes no name for Kubernetes: 1 to {longest} letters, digits and hyphens are",
            "rename it",
            exit_code=EXIT_USAGE,
        )
    return found


def labels(texts: tuple[str, ...]) -> dict[str, str]:
    """One name for each.

    Raises:
        WrightError: two of them get the same one.
    """
    found: dict[str, str] = {}
    for text in texts:
        name = label(text)
        if twin := next((other for other, taken in found.items() if taken == name), None):
            raise WrightError.of(
                "kubernetes-name",
                f"`{twin}` and `{text}` are both `{name}` for Kubernetes",
                "rename one of them",
                exit_code=EXIT_USAGE,
            )
        found[text] = name
    return found
