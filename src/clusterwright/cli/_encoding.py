"""Characters that the encoding of a terminal or file lacks: ASCII in their place, so that no output is lost."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import Any

from clusterwright.onhost.lib.clean_text import code

_ERRORS = "clusterwright.ascii"
_ASCII = dict(zip("┃│─·“”µμ✓█░", '||--""uu+#.', strict=True))
_ASCII |= {"→": "->", "…": "...", "≥": ">=", "≤": "<="}


def accept_all_characters(stream: Any) -> None:
    r"""Make the stream write characters that its encoding lacks in ASCII: a similar one, or a code.

    A code is such as `\u00e9`. Such an encoding is that of LC_ALL=C without Python's UTF-8 mode, or of a Latin-1 or
    GBK locale. Within a JSON document the codes mean the characters.
    """
    if isinstance(stream, TextIOWrapper):
        codecs.register_error(_ERRORS, _in_ascii)
        stream.reconfigure(errors=_ERRORS)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_ASCII.get(sign) or code(sign) for sign in signs), error.end
