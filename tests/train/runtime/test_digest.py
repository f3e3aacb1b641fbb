"""The checksum sees what disks do to files."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.train.runtime import memory  # noqa: E402 (torch may be missing)
from clusterwright.train.runtime.digest import Digest  # noqa: E402 (torch may be missing)

pytestmark = pytest.mark.train


def digest(*pieces):
    """The sum of the pieces."""
    taken = Digest()
    for piece in pieces:
        taken.update(memory.tensor(piece) if piece else torch.empty(0, dtype=torch.uint8))
    return taken.hexdigest()


@given(
    data=st.binary(max_size=40).map(lambda seed: seed * 700),
    place=st.integers(0, 10**6),
    bit=st.integers(0, 7),
)
def test_any_flipped_bit_is_seen(data, place, bit):
    """In the whole rows as in what is left over."""
    if data:
        damaged = bytearray(data)
        damaged[place % len(data)] ^= 1 << bit

        assert digest(bytes(damaged)) != digest(data)


@given(st.binary(min_size=8, max_size=64), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1023))
def test_swapped_words_are_seen(seed, row, other, word):
    """The words of a row have weights of their own, and the rows an order."""
    data = hashlib.shake_256(seed).digest(12_000) + seed * 1000
    words = [data[i : i + 8] for i in range(0, 16_384, 8)]
    swapped = list(words)
    one, two = (row * 1024 + word) % 2048, (other * 1024 + 1023 - word) % 2048
    swapped[one], swapped[two] = swapped[two], swapped[one]

    assert (digest(b"".join(swapped)) == digest(b"".join(words))) == (swapped == words)


def test_two_flipped_signs_in_a_row_are_seen():
    """Sums modulo 2^64 alone are blind to them: twice half of 2^64 is nothing."""
    for one, two in [(7, 2007), (3, 2003), (3, 2007), (8191, 8183)]:
        data = bytearray(8192)
        data[one] ^= 0x80
        data[two] ^= 0x80
        assert digest(bytes(data)) != digest(bytes(8192))


def test_zeroed_and_shortened_blocks_are_seen():
    """What a torn write and a hole in a file look like."""
    data = bytes(range(256)) * 128

    assert (
        len(
            {
                digest(data),
                digest(data[:8192] + bytes(8192) + data[16384:]),
                digest(data[:-1]),
                digest(data + b"\0"),
            }
        )
        == 4
    )
    assert len({digest(bytes(n)) for n in (0, 1, 8191, 8192, 8193, 16384)}) == 6


def test_the_ends_of_pieces_count():
    """The same bytes, cut elsewhere, are another file."""
    assert digest(b"ab", b"c") != digest(b"a", b"bc")


def test_the_sum_is_the_same_in_every_version():
    """A checkpoint of today must verify in years; a second, slow implementation says the same."""
    assert digest(bytes(range(256)) * 40) == slow(bytes(range(256)) * 40)


def slow(data):
    """The definition, in plain integers."""
    stream = hashlib.shake_256(b"clusterwright checkpoint, format 1").digest(8192)
    weights = [int.from_bytes(stream[i : i + 8], "little") | 1 for i in range(0, 8192, 8)]
    whole = len(data) - len(data) % 8192
    taken = hashlib.sha256(len(data).to_bytes(8, "little"))
    for begin, end in ((0, whole), (4, whole - 4)):
        words = [int.from_bytes(data[i : i + 8], "little") for i in range(begin, end, 8)]
        for row in range(0, len(words), 1024):
            total = sum(w * x for w, x in zip(weights, words[row : row + 1024], strict=False))
            taken.update((total % 2**64).to_bytes(8, "little"))
    taken.update(data[whole:])
    return taken.hexdigest()
