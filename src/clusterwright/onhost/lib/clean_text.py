"""Make text safe for a terminal, a page or a table: other users write job names, logs and comments.

An escape sequence can set the title, move the cursor or answer as if typed; a direction or zero-width character
makes one name look like another. Standard library only, Python 3.6 or later.
"""

import re
from typing import Any

# Unicode categories Cc (without line feed and tab), Cf, Cs, Zl and Zp; a test compares this with unicodedata.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f]"
)
# ECMA-48 SGR: colors and weights; not hidden, reverse or blinking text.
_COLOR = r"(?:0?[0-49]|2[2-49]|[34][0-79]|9[0-7]|10[0-7]|[34]8;5;\d{1,3}|[34]8;2;\d{1,3};\d{1,3};\d{1,3})"
_COLORS = re.compile("(\x1b\\[(?:%s(?:;%s)*)?m)" % (_COLOR, _COLOR))
_RESET = "\x1b[0m"


def clean(text: str, *, colors: bool = False, lines: bool = True) -> str:
    r"""Return the text with control, direction and zero-width characters as codes such as `\x1b` and `\u202e`.

    Within a JSON document the codes mean the characters that they replace. With `colors`, SGR colors remain and
    end with each line; without `lines`, line feeds and tabs become codes too.
    """
    if text.isprintable():
        return text
    text = (
        "\n".join(map(_colored_line, text.split("\n")))
        if colors and "\x1b" in text
        else UNSAFE.sub(_code, text)
    )
    return text if lines else text.replace("\n", "\\x0a").replace("\t", "\\x09")


def _colored_line(line: str) -> str:
    parts = _COLORS.split(line)  # the odd ones are colors
    parts[::2] = [UNSAFE.sub(_code, part) for part in parts[::2]]
    return "".join(parts) + (_RESET if len(parts) > 1 and parts[-2] not in (_RESET, "\x1b[m") else "")


def _code(match: Any) -> str:
    return code(match.group())


def code(sign: str) -> str:
    r"""Return the code of a character, such as `\x1b` or `\u202e`."""
    number = ord(sign)
    if number < 0x20:
        return "\\x%02x" % number
    if number < 0x10000:
        return "\\u%04x" % number
    number -= 0x10000  # a pair of surrogates, as in JSON
    return "\\u%04x\\u%04x" % (0xD800 + (number >> 10), 0xDC00 + (number & 0x3FF))


class CleanStream:
    """A text stream that cleans what is written; everything else is that of the wrapped stream.

    Rich writes its own colors, so it takes the wrapped stream (`rich_proxied_file`); its callers clean the text.
    """

    def __init__(self, stream: Any) -> None:
        self.unfiltered = self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write the text to the wrapped stream, cleaned; return the number of characters."""
        self.unfiltered.write(clean(text))
        return len(text)

    def writelines(self, texts: Any) -> None:
        """Write each text to the wrapped stream, cleaned."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


def unfiltered(stream: Any) -> Any:
    """Return the stream beneath a CleanStream, for a caller that writes its own colors around cleaned text."""
    return stream.unfiltered if isinstance(stream, CleanStream) else stream
