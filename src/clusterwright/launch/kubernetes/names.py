"""Names that Kubernetes takes, from ours."""

from __future__ import annotations

import re

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

# RFC 1123: 63 is the longest label. A JobSet makes NAME-node-0-NUMBER of it, and names hosts so.
LONGEST, LONGEST_JOB = 63, 63 - len("-node-0-65535")


def label(text: str, longest: int = LONGEST) -> str:
    """Lower case, with a hyphen for what is no letter and no digit.

    Raises:
        WrightError: nothing is left, or it is too long.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name or len(name) > longest:
        raise WrightError.from_code(
            "kubernetes-name",
            _(
                "`{text}` makes no name for Kubernetes: 1 to {longest} letters, digits and hyphens are",
                text=text,
                longest=longest,
            ),
            _("rename it"),
            exit_code=EXIT_USAGE,
        )
    return name


def labels(texts: tuple[str, ...]) -> dict[str, str]:
    """One name for each.

    Raises:
        WrightError: two of them get the same one.
    """
    names: dict[str, str] = {}
    for text in texts:
        name = label(text)
        if twin := next(
            (earlier_text for earlier_text, used_name in names.items() if used_name == name), None
        ):
            raise WrightError.from_code(
                "kubernetes-name",
                _("`{twin}` and `{text}` are both `{name}` for Kubernetes", twin=twin, text=text, name=name),
                _("rename one of them"),
                exit_code=EXIT_USAGE,
            )
        names[text] = name
    return names
