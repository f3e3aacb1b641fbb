"""Tags of images, in the grammar of references that docker, podman and buildah share."""

from __future__ import annotations

import re

from clusterwright.i18n import _
from clusterwright.units import QuantityError

# https://pkg.go.dev/github.com/distribution/reference: [host[:port]/]name[/name...][:tag]
_NAME = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_TAG = re.compile(rf"((?:{_HOST}/)?{_NAME}(?:/{_NAME})*)(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?")
_LONGEST_NAME = 255


def parse_tag(text: str) -> str:
    """Return a tag of an image, such as `registry.example:5000/team/gpt:2`.

    Raises:
        QuantityError: the text is none; the fix names the nearest tag.
    """
    match = _TAG.fullmatch(text)
    if match and len(match[1]) <= _LONGEST_NAME:
        return text
    raise QuantityError(
        _(
            "`{text}` is no tag of an image: a name has lowercase letters, digits, `.`, `_`, `-`",
            text=text[:80],
        ),
        _("write --tag {tag}", tag=nearest_tag(text)),
    )


def nearest_tag(text: str) -> str:
    """Return the tag that is most like a text: lowercase names, hyphens in place of other signs, one colon."""
    *folders, last = text.strip().split("/")
    name, _colon, version = last.partition(":")
    registry = [part for part in folders[:1] if re.search(r"[.:]", part) and re.fullmatch(_HOST, part)]
    names = [nearest_name(part) for part in (*folders[len(registry) :], name)]
    path = "/".join((*registry, *(filter(None, names) if any(names) else ("image",))))[:_LONGEST_NAME]
    version = re.sub(r"[^A-Za-z0-9_.-]+", "-", version.strip(": ")).lstrip(".-")[:128]
    return f"{path}:{version}" if version else path


def nearest_name(text: str) -> str:
    """Return the part of an image's name that is most like a text; empty if it has no letter and no digit."""
    lowercase = re.sub(r"[^a-z0-9._-]+", "-", text.lower())
    return re.sub(r"\.{2,}|_{3,}|[._-]*(?:[._]-|-[._]|\._|_\.)[._-]*", "-", lowercase).strip("._-")
