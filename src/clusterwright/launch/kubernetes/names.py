"""Convert names to valid Kubernetes names."""

from __future__ import annotations

import re

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

# RFC 1123: a label has at most 63 characters. A JobSet names its pods NAME-node-0-NUMBER.
LONGEST, LONGEST_JOB = 63, 63 - len("-node-0-65535")


def label(text: str, longest: int = LONGEST) -> str:
    """Return a text as a Kubernetes name: lower case, with hyphens for other characters.

    Raises:
        WrightError: the result is empty or too long.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not name or len(name) > longest:
        raise WrightError.from_code(
            "kubernetes-name",
            _(
                "`{text}` cannot be converted to a Kubernetes name of 1 to {limit} letters, digits and hyphens",
                text=text,
                limit=longest,
            ),
            _("rename it"),
            exit_code=EXIT_USAGE,
        )
    return name


def labels(texts: tuple[str, ...]) -> dict[str, str]:
    """Return texts as unique Kubernetes names.

    Raises:
        WrightError: two texts have the same name.
    """
    names: dict[str, str] = {}
    for text in texts:
        name = label(text)
        if twin := next(
            (earlier_text for earlier_text, used_name in names.items() if used_name == name), None
        ):
            raise WrightError.from_code(
                "kubernetes-name",
                _(
                    "`{first}` and `{second}` are both `{name}` in Kubernetes",
                    first=twin,
                    second=text,
                    name=name,
                ),
                _("rename one of the two"),
                exit_code=EXIT_USAGE,
            )
        names[text] = name
    return names
