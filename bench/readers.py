"""Throughput of `runtime.datasets` against the minimal program for each file format.

    python -m bench.readers [--samples 20000]        (a minute)

The floor of each format reads the same samples in the same order by pread and the format's decoder alone. Datasets and
floors alternate; ratios are medians of the turns. Goal: 0.8 of the floor's samples/s.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import statistics
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from PIL import Image

from clusterwright.runtime.data import Sampler
from clusterwright.runtime.datasets import Images, Jsonl, Parquet, Tar, Windows
from clusterwright.runtime.datasets.images import pixels

GOAL, TURNS, SHARDS, SIDE = 0.8, 5, 8, 64
Read = Callable[[], int]  # reads all samples and returns their number


def main() -> None:
    """Print a line for each format."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=20000)
    count = parser.parse_args().samples
    torch.set_num_threads(1)
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.0f}, {count} samples, {TURNS} turns")
    with tempfile.TemporaryDirectory() as folder:
        for make in (jsonl, tar, images, parquet, windows):
            name, ours, floor = make(Path(folder) / make.__name__, count)
            rates = [(rate(ours), rate(floor)) for _ in range(TURNS)]
            shares = [mine / least for mine, least in rates]
            middle = statistics.median(shares)
            print(
                f"{name}: {statistics.median(mine for mine, _ in rates):,.0f} samples/s,"
                f" {middle:.2f} of the floor ({min(shares):.2f} to {max(shares):.2f}), goal {GOAL}:"
                f" {'met' if middle >= GOAL else 'MISSED'}",
                flush=True,
            )


def rate(read: Read) -> float:
    """Return samples per CPU second, from the page cache: programs are compared, not the disk."""
    begun = time.process_time()
    return read() / (time.process_time() - begun)


def ordered(dataset: Any) -> list[int]:
    """Return half of the sample indexes, in a training's order."""
    sampler = Sampler.over(dataset, batch=1)
    return [int(sampler.sample(place)) for place in range(len(dataset) // 2)]


def through(dataset: Any, order: list[int]) -> Read:
    """Return a function that reads the samples of the dataset in this order, and counts them."""

    def read() -> int:
        for number in order:
            dataset[number]
        return len(order)

    return read


def texts(count: int) -> Iterator[dict[str, Any]]:
    """Yield samples like those of instruction tuning."""
    words = random.Random(1)
    for number in range(count):
        yield {
            "id": number,
            "prompt": "what? " * words.randint(5, 60),
            "answer": "that. " * words.randint(5, 200),
        }


def picture(number: int) -> bytes:
    """Return a JPEG of SIDE pixels with the size of a photograph."""
    held = io.BytesIO()
    noise = torch.randint(
        0, 255, (SIDE, SIDE, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(number)
    )
    Image.fromarray(noise.numpy()).save(held, "JPEG")
    return held.getvalue()


def plainly(image: bytes) -> torch.Tensor:
    """Decode an image's bytes to a tensor without the datasets."""
    plain = Image.open(io.BytesIO(image)).convert("RGB")
    return torch.frombuffer(bytearray(plain.tobytes()), dtype=torch.uint8)


def spans_of(data: Any, order: list[int]) -> list[tuple[int, int, int]]:
    """Return file, offset and length of each sample, so that the floor does no lookups."""
    files = [os.open(path, os.O_RDONLY) for path in data.paths]
    found = []
    for number in order:
        shard, inside = data.place(number)
        row = data._spans[shard]  # noqa: SLF001 (what is measured)
        found.append((files[shard], row[2 * inside], row[2 * inside + 1]))
    return found


def jsonl(folder: Path, count: int) -> tuple[str, Read, Read]:
    """Set up JSON lines; the floor is pread and json.loads."""
    folder.mkdir()
    lines = [json.dumps(each) + "\n" for each in texts(count)]
    for shard in range(SHARDS):
        (folder / f"{shard}.jsonl").write_text("".join(lines[shard::SHARDS]))
    data = Jsonl(folder)
    order = ordered(data)
    spans = spans_of(data, order)

    def floor() -> int:
        for file, first, length in spans:
            json.loads(os.pread(file, length, first))
        return len(spans)

    return "jsonl", through(data, order), floor


def tar(folder: Path, count: int) -> tuple[str, Read, Read]:
    """Set up tar shards of images; the floor is pread, header parsing and decoding."""
    folder.mkdir()
    held = [picture(number) for number in range(64)]
    for shard in range(SHARDS):
        with tarfile.open(folder / f"{shard}.tar", "w") as archive:
            for number in range(shard, count, SHARDS):
                for ending, part in (("jpg", held[number % 64]), ("cls", b"7")):
                    member = tarfile.TarInfo(f"{number:08}.{ending}")
                    member.size = len(part)
                    archive.addfile(member, io.BytesIO(part))
    data = Tar(folder)
    order = ordered(data)
    spans = spans_of(data, order)

    def ours() -> int:
        for number in order:
            pixels(data[number]["jpg"])
        return len(order)

    def floor() -> int:
        for file, first, length in spans:
            part, at, found = os.pread(file, length, first), 0, {}
            while at < len(part):
                size = int(part[at + 124 : at + 135], 8)
                name = part[at : at + 100].rstrip(b"\0").decode()
                found[name.partition(".")[2]] = part[at + 512 : at + 512 + size]
                at += 512 + -(-size // 512) * 512
            plainly(found["jpg"])
        return len(spans)

    return "tar", ours, floor


def images(folder: Path, count: int) -> tuple[str, Read, Read]:
    """Set up a folder of JPEGs; the floor is reading and decoding."""
    for number in range(count // 8):
        path = folder / f"class{number % 10}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture(number % 64))
    data = Images(folder)
    order = ordered(data)
    paths = [data._samples[number][0] for number in order]  # noqa: SLF001 (what is measured)

    def floor() -> int:
        for path in paths:
            with open(path, "rb") as file:  # noqa: PTH123 (a third of the time of Path.read_bytes)
                plainly(file.read())
        return len(paths)

    return "images", through(data, order), floor


def parquet(folder: Path, count: int) -> tuple[str, Read, Read]:
    """Set up a Parquet file; the floor reads each row group once and converts its rows."""
    folder.mkdir()
    rows = list(texts(count))
    for shard in range(SHARDS):
        table = pa.Table.from_pylist(rows[shard::SHARDS])
        pq.write_table(table, folder / f"{shard}.parquet", row_group_size=256)
    data = Parquet(folder, cache_size=20)
    sampler = Sampler.over(data, batch=1)
    order = [int(sampler.sample(place)) for place in range(len(data))]

    def floor() -> int:
        done = 0
        for path in data.paths:
            file = pq.ParquetFile(path)
            for group in range(file.metadata.num_row_groups):
                done += len(file.read_row_group(group).to_pylist())
        return done

    return "parquet", through(data, order), floor


def windows(folder: Path, count: int) -> tuple[str, Read, Read]:
    """Set up windows of 1,025 bytes; the floor is pread and an int64 tensor."""
    folder.mkdir()
    for shard in range(SHARDS):
        (folder / f"{shard}.bin").write_bytes(os.urandom(count // SHARDS * 1024 + 1))
    data = Windows(folder, context=1024)
    order = ordered(data)
    files = [os.open(path, os.O_RDONLY) for path in data.paths]
    each = count // SHARDS

    def floor() -> int:
        for number in order:
            shard, inside = divmod(number, each)
            held = bytearray(os.pread(files[shard], 1025, inside * 1024))
            torch.frombuffer(held, dtype=torch.uint8).to(torch.int64)
        return len(order)

    return "windows", through(data, order), floor


if __name__ == "__main__":
    main()
