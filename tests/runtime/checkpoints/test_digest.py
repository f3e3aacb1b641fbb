"""The checksum sees what disks do to files."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from clusterwright.runtime.checkpoints import memory
from clusterwright.runtime.checkpoints.digest import block_sum

pytestmark = pytest.mark.train
ROW = 4096  # bytes


def digest(data):
    """The sum of these bytes."""
    return block_sum(memory.tensor(data) if data else torch.empty(0, dtype=torch.uint8))


def flipped(data, *bits):
    """The data with these bits turned over."""
    damaged = bytearray(data)
    for bit in bits:
        damaged[bit // 8 % len(data)] ^= 1 << bit % 8
    return bytes(damaged)


@given(st.binary(min_size=1, max_size=40), st.integers(0, 10**7))
def test_any_flipped_bit_is_seen(seed, bit):
    """In the whole rows as in what is left over."""
    data = seed * 700

    assert digest(flipped(data, bit)) != digest(data)


@given(st.binary(min_size=8, max_size=64), st.sets(st.integers(0, 12_000 * 8 - 1), min_size=2, max_size=3))
def test_two_and_three_flipped_bits_are_seen(seed, bits):
    """Wherever they are, also the same bit of several words."""
    data = hashlib.shake_256(seed).digest(12_000)

    assert digest(flipped(data, *bits)) != digest(data)


def test_two_flipped_signs_are_seen():
    """Twice half of 2^64 is nothing: one sum alone is blind to it, in a row as in a column."""
    for one, two in [(7, 2007), (7, 7 + ROW), (7, 15), (ROW - 1, 2 * ROW - 1)]:
        assert digest(flipped(bytes(4 * ROW), 8 * one + 7, 8 * two + 7)) != digest(bytes(4 * ROW))


@given(st.binary(min_size=8, max_size=64), st.integers(0, 2047), st.integers(0, 2047))
def test_swapped_words_are_seen(seed, one, two):
    """In one row or in two."""
    data = hashlib.shake_256(seed).digest(4 * ROW)
    words = [data[i : i + 8] for i in range(0, len(data), 8)]
    swapped = list(words)
    swapped[one], swapped[two] = swapped[two], swapped[one]

    assert (digest(b"".join(swapped)) == digest(data)) == (swapped == words)


@given(st.binary(min_size=8, max_size=64), st.permutations(range(6)))
def test_rows_in_another_order_are_seen(seed, order):
    """Sectors of a disk that were mixed up."""
    rows = [hashlib.shake_256(seed + bytes([n])).digest(ROW) for n in range(6)]

    assert (digest(b"".join(rows[n] for n in order)) == digest(b"".join(rows))) == (order == sorted(order))


def test_zeroed_repeated_and_shortened_blocks_are_seen():
    """What a torn write and a hole in a file look like."""
    data = hashlib.shake_256(b"x").digest(8 * ROW)
    damaged = [
        data[:ROW] + bytes(ROW) + data[2 * ROW :],
        data[:ROW] + data[:ROW] + data[2 * ROW :],
        data[:512] + bytes(512) + data[1024:],
        data[:-1], data + b"\0", data[ROW:], data[8:] + data[:8],
    ]  # fmt: skip

    assert len({digest(each) for each in [data, *damaged]}) == 1 + len(damaged)
    assert len({digest(bytes(n)) for n in (0, 1, ROW - 1, ROW, ROW + 1, 2 * ROW)}) == 6


def test_it_does_not_matter_where_in_memory_the_bytes_lie():
    """A tensor of bytes may begin between two words."""
    data = torch.randint(0, 255, (3 * ROW + 5,), dtype=torch.uint8)

    assert block_sum(torch.cat([data[:3], data])[3:]) == block_sum(data)


def test_the_sum_is_the_same_in_every_version():
    """A checkpoint of today must verify in years; a second, slow implementation says the same."""
    data = hashlib.shake_256(b"years").digest(3 * ROW + 77)

    assert digest(data) == slow(data)


@pytest.fixture(params=[1, 2])
def threads(request):
    """As many as torch may use; with one, a block is summed in one piece."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("length", [0, 5, ROW, 63 * ROW, 64 * ROW + 9, 200 * ROW, 1 << 20])
@pytest.mark.usefixtures("threads")
def test_the_sum_does_not_depend_on_torchs_threads(length):
    """In one piece or in several."""
    data = hashlib.shake_256(b"threads").digest(length)

    assert digest(data) == slow(data)


def slow(data):
    """The definition, in plain integers."""
    whole = len(data) - len(data) % ROW
    words = [int.from_bytes(data[i : i + 8], "little") for i in range(0, whole, 8)]
    sums = [sum(words[row : row + 512]) for row in range(0, len(words), 512)]
    sums += [sum(words[column::512]) for column in range(512 if words else 0)]
    taken = hashlib.blake2b(len(data).to_bytes(8, "little"), digest_size=16)
    taken.update(b"".join((total % 2**64).to_bytes(8, "little") for total in sums) + data[whole:])
    return taken.digest()
