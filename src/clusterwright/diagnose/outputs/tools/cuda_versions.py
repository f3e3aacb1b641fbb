"""`nvcc --version`, `nvidia-smi` and PyTorch: CUDA versions that do not fit one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clusterwright.diagnose.outputs.value import Finding, Normal, Row
from clusterwright.i18n import _

_DRIVER = re.compile(r"\bCUDA (?:UMD )?Version: *(?P<version>\d+\.\d+)")
_COMPILER = re.compile(
    r"Cuda compilation tools, release (?P<version>\d+\.\d+)|^CUDA runtime version: (?P<runtime>\d+\.\d+)"
)
_TORCH = re.compile(
    r"^CUDA used to build PyTorch: (?P<version>\d+\.\d+)|\b[12]\.\d+\.\d+\+cu(?P<short>\d{3})\b"
    r"|torch\.version\.cuda['\"]?\)? *[:=]? *['\"]?(?P<named>\d+\.\d+)"
)
Version = tuple[int, int]


def read(rows: Sequence[Row], _memory_bytes: int | None) -> Iterator[Finding | Normal]:
    """Yield a finding if nvcc or PyTorch is of a newer CUDA major version than the driver, else a normal value.

    `rows` are lines of an output such as nvidia-smi's. Also a finding if nvcc and PyTorch have different major
    versions.
    Nothing for a program that the output does not name.
    """
    driver, compiler, torch = (_find_version(rows, pattern) for pattern in (_DRIVER, _COMPILER, _TORCH))
    if compiler and driver:
        yield _against_driver(*compiler, "nvcc", driver[1])
    if torch and driver:
        yield _against_driver(*torch, "PyTorch", driver[1])
    if compiler and torch and compiler[1][0] != torch[1][0]:
        text = f"cuda: nvcc {_text(compiler[1])} compiles for a PyTorch of CUDA {_text(torch[1])}"
        yield Finding(compiler[0], text)


def _find_version(rows: Sequence[Row], pattern: re.Pattern[str]) -> tuple[Row, Version] | None:
    for row in rows:
        if match := pattern.search(row.text):
            text = next(filter(None, match.groups()))
            return row, _version(text if "." in text else f"{text[:2]}.{text[2:]}")
    return None


def _version(text: str) -> Version:
    major, _dot, minor = text.partition(".")
    return int(major), int(minor)


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _against_driver(row: Row, version: Version, program: str, driver: Version) -> Finding | Normal:
    if version[0] > driver[0]:
        return Finding(row, f"cuda: {program} is of CUDA {_text(version)}, the driver of {_text(driver)}")
    texts = {"program": program, "version": _text(version), "driver": _text(driver)}
    if version > driver:
        sentence = _(
            "{program} is of CUDA {version}, the driver of {driver}: it runs (one major version), except code that the"
            " driver compiles when it starts (PTX).",
            **texts,
        )
    else:
        sentence = _("{program} is of CUDA {version}, the driver of {driver}: normal.", **texts)
    return Normal(row, sentence)
