"""Names of other software that guides mention, and the fields of the job file that cover what it does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.i18n import N_


@dataclass(frozen=True, slots=True)
class OtherName:
    """A name, what it stands for, and the fields that cover it."""

    name: str
    pattern: str
    answer: str
    fields: tuple[str, ...]  # of the job file


_COMPRESS, _BUCKET, _HOSTS = "gradients.compress", "gradients.bucket", "gradients.hierarchical"
OTHER_NAMES = (
    OtherName(
        "LightCC",
        r"light[-_ ]?cc",
        N_(
            "LightCC compresses gradients for slow networks and needs its own library and changes to the program. "
            "`gradients: {compress: power}` (PowerSGD) and `compress: int8` (8 bits) do so for any program in "
            "DistributedDataParallel without changes; both add the error to the next gradients. `gradients.bucket` "
            "sets the size of messages, and `gradients.hierarchical` sums within a host first."
        ),
        (_COMPRESS, _BUCKET, _HOSTS),
    ),
    OtherName(
        "top-k, Deep Gradient Compression",
        r"top[-_ ]?k(?:[-_ ]?compression)?|dgc|deep[-_ ]?gradient[-_ ]?compression",
        N_(
            "Sending only the largest gradients is covered by `gradients: {compress: power}` (PowerSGD): it sends some "
            "hundredths of the data by all-reduce, which top-k cannot use, and adds the rest to the next gradients."
        ),
        (_COMPRESS, "gradients.rank", "gradients.warm_up"),
    ),
    OtherName(
        "Horovod's compression",
        r"horovod(?:[-_ ]?(?:fp16[-_ ]?)?compression)?",
        N_(
            "Horovod's fp16 compression is covered by `gradients: {compress: fp16}`, or bf16, which needs no scaling; "
            "its fusion buffer by `gradients.bucket`."
        ),
        (_COMPRESS, _BUCKET),
    ),
    OtherName(
        "1-bit Adam",
        r"(?:1|one)[-_ ]?bit[-_ ]?(?:adam|lamb|sgd)|qsgd|terngrad",
        N_("Gradients of few bits are covered by `gradients: {compress: int8}`: 8 bits with error feedback."),
        (_COMPRESS,),
    ),
    OtherName(
        "PowerSGD",
        r"power[-_ ]?sgd",
        N_("PowerSGD is `gradients: {compress: power}`."),
        (_COMPRESS, "gradients.rank", "gradients.warm_up"),
    ),
    OtherName(
        "Local SGD, DiLoCo",
        r"local[-_ ]?sgd|diloco|fed[-_ ]?avg",
        N_("Synchronizing every few steps is `outer: {every: 50}`, which sends a fiftieth of the data."),
        ("outer.every", "outer.warm_up", "outer.bits"),
    ),
)


def other_name(text: str) -> OtherName | None:
    """Return what is known of a name of other software, in any spelling; None for another text."""
    short = text.strip()[:60]
    return next((row for row in OTHER_NAMES if re.fullmatch(row.pattern, short, re.IGNORECASE)), None)
