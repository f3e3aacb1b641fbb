"""Text of other users does nothing to a terminal, a page or a table."""

import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.onhost.lib.clean_text import UNSAFE, CleanStream, clean, unfiltered

CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=CATEGORIES),
        st.sampled_from("\x1b[]0;138mHJ\x07\\\r\n\u202e\u200b\x9b"),
    ),
    max_size=60,
)


def unsafe(text):
    """The characters of the text that act on a terminal or hide in it."""
    return [sign for sign in text if unicodedata.category(sign) in CATEGORIES and sign not in "\n\t"]


def test_every_control_direction_and_zero_width_character_is_unsafe():
    """The pattern is a literal, because programs of Python 3.6 import it fast."""
    signs = {chr(number) for number in range(0x110000)}

    assert {sign for sign in signs if unsafe(sign)} <= {sign for sign in signs if UNSAFE.fullmatch(sign)}
    assert clean("chars: ä 中文\u3000\u00a0🙂\t\n") == "chars: ä 中文\u3000\u00a0🙂\t\n"


@given(HOSTILE)
def test_nothing_unsafe_is_left(text):
    """Whatever a user has written, and cleaning twice changes nothing."""
    assert unsafe(clean(text)) == []
    assert clean(clean(text)) == clean(text)
    assert "\n" not in clean(text, lines=False)
    clean(text).encode()  # lone surrogates, as in names of files that are not UTF-8, would raise


@given(HOSTILE)
def test_colors_are_the_only_escape_sequences_that_are_left(text):
    """And no color outlives its line."""
    for line in clean(text, colors=True).split("\n"):
        without = re.sub(r"\x1b\[[0-9;]*m", "", line)

        assert unsafe(without) == []
        assert "\x1b" not in line or re.search(r"\x1b\[0?m[^\x1b]*$", line)


@pytest.mark.parametrize("sequence", ["8", "7", "5", "1;8", "38;5", "48;2;1", "99", "0;8;1"])
def test_text_is_never_hidden(sequence):
    """SGR 8 hides, 5 blinks, 7 reverses; an incomplete color is none."""
    assert clean(f"\x1b[{sequence}mx", colors=True) == f"\\x1b[{sequence}mx"


@pytest.mark.parametrize("sequence", ["", "0", "1;31", "01;32", "38;5;200", "48;2;1;2;3", "97"])
def test_colors_of_programs_stay(sequence):
    """As ls, pytest and rich print them."""
    assert f"\x1b[{sequence}mx" in clean(f"\x1b[{sequence}mx", colors=True)


@given(st.text(st.characters(), max_size=60))
def test_a_cleaned_json_document_means_the_same(text):
    """The codes are those of JSON."""
    assert json.loads(clean(json.dumps([text], ensure_ascii=False))) == [text] or max(text) >= "\ud800"


def test_a_stream_cleans_and_is_otherwise_the_wrapped_one():
    """Rich and our own colors take the wrapped one."""
    plain = io.StringIO()
    stream = CleanStream(plain)
    stream.write("a\x1b]0;t\x07\n")
    stream.writelines(["\x9b2J"])

    assert plain.getvalue() == "a\\x1b]0;t\\x07\n\\u009b2J"
    assert unfiltered(stream) is stream.rich_proxied_file is plain
    assert unfiltered(plain) is plain
    assert not stream.isatty()
