"""Dialogues in JSON lines for fine-tuning; the loss covers only the answers.

A line is `{"prompt": ..., "response": ...}`, `{"instruction": ..., "input": ..., "output": ...}`, or
`{"messages": [{"role": "user", "content": ...}, {"role": "assistant", "content": ...}]}`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from clusterwright.runtime.datasets import BadSampleError, Jsonl
from clusterwright.runtime.recipes.tokens import Bytes, File

IGNORED = -100
_ROLES = ("system", "user", "assistant")
_VALIDATION_STRIDE = 20  # every twentieth line is for validation
_MULTIPLE = 16  # lengths are padded to multiples of it, so that tensor and context groups divide them


@dataclass(frozen=True)
class Sample:
    """The tokens of a dialogue, and a mask of those in answers."""

    tokens: list[int]
    learned: list[bool]

    @property
    def count(self) -> int:
        """Return the number of the dialogue's tokens that the loss covers."""
        return sum(self.learned[1:])


@dataclass(frozen=True)
class Read:
    """Samples for training and validation, and the errors of skipped lines."""

    training: list[Sample]
    validation: list[Sample]
    bad: list[str]

    @property
    def fingerprint(self) -> str:
        """Return a hash of the training tokens, 16 hexadecimal digits, by which a changed dataset is detected."""
        hasher = hashlib.sha256()
        for sample in self.training:
            hasher.update(str(sample.tokens).encode())
        return hasher.hexdigest()[:16]


def read(path: str, tokenizer: Bytes | File, context: int, *, skip_bad: bool) -> Read:
    """Return the lines of a file, or of the files in a folder, as samples; every 20th, from the second, is to validate.

    `skip_bad`: unusable lines are left out and returned as `bad`.

    Raises:
        ValueError: a line is unusable and `skip_bad` is not set, or too few usable lines are left.
    """
    lines, bad = Jsonl(path), []
    samples: list[Sample] = []
    for number in range(len(lines)):
        try:
            samples.append(_sample(lines, number, tokenizer, context))
        except BadSampleError as error:
            if not skip_bad:
                raise ValueError(
                    f"{error}; fix: correct the line, or skip such lines by --skip-bad"
                ) from error
            bad.append(str(error))
    validation_mask = [n % _VALIDATION_STRIDE == 1 for n in range(len(samples))]
    if not any(validation_mask):
        raise ValueError(
            f"{path} has {len(samples)} usable of {len(lines)} lines; at least two are needed, one for validation"
        )
    training = [sample for sample, out in zip(samples, validation_mask) if not out]
    return Read(training, [sample for sample, out in zip(samples, validation_mask) if out], bad)


def pad(samples: list[Sample]) -> tuple[Tensor, Tensor]:
    """Return tokens and targets (B, T) of the samples; T is a multiple of 16, padding is last and not in the loss."""
    longest = max(len(sample.tokens) for sample in samples) - 1
    length = -(-longest // _MULTIPLE) * _MULTIPLE
    tokens = torch.zeros(len(samples), length, dtype=torch.int64)
    targets = torch.full((len(samples), length), IGNORED)
    for row, sample in enumerate(samples):
        size = len(sample.tokens) - 1
        tokens[row, :size] = torch.tensor(sample.tokens[:-1])
        aims = [token if learned else IGNORED for token, learned in zip(sample.tokens, sample.learned)]
        targets[row, :size] = torch.tensor(aims[1:])
    return tokens, targets


def _sample(lines: Jsonl, number: int, tokenizer: Bytes | File, context: int) -> Sample:
    record = lines[number]
    shard, inside = lines.locate(number)
    try:
        full_sample = encode(list(turns(record)), tokenizer)
    except (ValueError, KeyError, TypeError) as error:
        raise BadSampleError.from_sample(lines.paths[shard], inside, error) from error
    sample = Sample(full_sample.tokens[: context + 1], full_sample.learned[: context + 1])
    if not sample.count:
        raise BadSampleError.from_sample(lines.paths[shard], inside, f"no answer within --context {context}")
    return sample


def turns(record: Any) -> Iterator[tuple[str, str]]:
    """Yield role and text of each turn of a record with `messages`, else `instruction`, else `prompt`.

    Raises:
        ValueError: the record has none of them, or a turn has another role or no string.
    """
    if "messages" in record:
        pairs = [(message["role"], message["content"]) for message in record["messages"]]
    elif "instruction" in record:
        prompt = "\n\n".join(part for part in (record["instruction"], record.get("input", "")) if part)
        pairs = [("user", prompt), ("assistant", record["output"])]
    elif "prompt" in record:
        pairs = [("user", record["prompt"]), ("assistant", record.get("response") or record["completion"])]
    else:
        raise ValueError("the line has neither `messages`, `instruction` nor `prompt`")
    for role, text in pairs:
        if role not in _ROLES or not isinstance(text, str):
            raise ValueError(f"role {role}: each turn must be a string, its role one of {', '.join(_ROLES)}")
        yield role, text


def encode(dialogue: list[tuple[str, str]], tokenizer: Bytes | File) -> Sample:
    """Return the tokens of a dialogue and which of them the loss covers: the answers with their end token.

    In the format of Llama 3 if the tokenizer has its tokens, else as `role: text`.
    """
    begin, end = tokenizer.special("<|begin_of_text|>", "<s>"), tokenizer.special("<|eot_id|>", "</s>")
    opens, closes = tokenizer.special("<|start_header_id|>"), tokenizer.special("<|end_header_id|>")
    tokens = [begin] if begin is not None else []
    learned = [False] * len(tokens)
    for role, text in dialogue:
        if opens is None or closes is None:
            head = tokenizer.encode(f"{role}: ")
        else:
            head = [opens, *tokenizer.encode(role), closes, *tokenizer.encode("\n\n")]
        body = [*tokenizer.encode(text), *([end] if end is not None else tokenizer.encode("\n"))]
        tokens += head + body
        learned += [False] * len(head) + [role == "assistant"] * len(body)
    return Sample(tokens, learned)
