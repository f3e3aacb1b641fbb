"""Converts checkpoints to and from other formats: torch.save, torch's DCP, or the model alone as safetensors.

    python -m clusterwright.runtime.checkpoints.convert step-00000100 gpt.pt --to torch

The result is read back and compared bitwise before it is renamed to its target. Random states are not converted, as
they belong to a number of ranks. Nothing of a checkpoint runs, whatever its format.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from clusterwright.onhost.lib.partial_folder import PartialFolder
from clusterwright.runtime.checkpoints import disk, forms, manifest, part, tree
from clusterwright.runtime.checkpoints.checkpoint import load
from clusterwright.runtime.checkpoints.part import Chunk
from clusterwright.runtime.checkpoints.source import Damaged

RANDOM = "the random states of its ranks"
_ADVICE = re.compile(
    r" (?:This file can still be loaded|In PyTorch 2\.6|Re-running `torch)"
)  # to run its code


class Refused(Exception):  # noqa: N818 (a result that the caller shows)
    """The conversion failed and left no files; carries an error code and a fix."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code, self.fix = code, fix


def convert(
    source: Path, target: Path, *, to: str | None = None, origin: str | None = None, name: str = "model"
) -> dict[str, Any]:
    """Convert a checkpoint of ours `to` another format, or to ours from the format `origin`: exactly one of the two.

    Returns the target, its bytes, and what could not be converted (`left_behind`). `name`: the model that a
    checkpoint's safetensors file is made of.

    Raises:
        Refused: the options exclude each other, the target exists, or the conversion is not possible.
    """
    if (to or origin) not in forms.FORMS or bool(to) == bool(origin) or origin == "safetensors":
        message = "exactly one of --to (torch, dcp or safetensors) and --from (torch or dcp) is required"
        raise Refused("checkpoint-form", message, "pass --to FORMAT or --from FORMAT")
    if os.path.lexists(target):
        raise Refused("checkpoint-target-there", f"{target} exists already", "choose another path")
    omissions = to_other(source, target, to, name) if to else from_other(source, target, str(origin), name)
    paths = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return {
        "target": str(target),
        "bytes": sum(path.stat().st_size for path in paths),
        "left_behind": omissions,
    }


def to_other(source: Path, target: Path, form: str, name: str) -> list[str]:
    """Convert our checkpoint to the format `form` and compare the result; return what that format cannot hold.

    The target appears only if both are equal.

    Raises:
        Refused: the checkpoint is damaged, or its state changes in the other format.
    """
    try:
        shared, _ = load(source)
    except Damaged as error:
        fix = "choose another checkpoint from `wright checkpoints list`"
        raise Refused("checkpoint-damaged", f"{source.name}: {error}", fix) from None
    except (MemoryError, RuntimeError) as error:
        reason = _first_line(error)
        message = f"{source.name} cannot be held in memory: {reason}"
        raise Refused("checkpoint-unreadable", message, "convert it on a host with more memory") from None
    omissions = [RANDOM]
    if form == "safetensors":
        shared, more = _model(shared, name)
        omissions += more
    write, read = forms.FORMS[form]
    with _AtomicTarget(target) as scratch:
        try:
            write(shared, scratch)
        except (ValueError, TypeError, KeyError) as error:
            message = f"the checkpoint does not fit the format {form}: {error}"
            raise Refused("checkpoint-not-carried", message, "choose another form") from None
        try:
            _compare(shared, read(scratch), form)
        except (Damaged, *tree.CRAFTED) as error:
            message = f"the result in the format {form} cannot be read back: {error}"
            raise Refused("checkpoint-not-carried", message, "choose another form") from None
    return omissions


def from_other(source: Path, target: Path, form: str, name: str) -> list[str]:
    """Convert a file or folder of format `form` into the step folder `target`; return what was not converted.

    The result is compared with the source.

    Raises:
        Refused: the target's name has no step, its folder holds another model, the source is missing or unreadable,
            or the state changes.
    """
    if target.name != manifest.step_name(_step(target)):
        message = f"{target.name} is not a checkpoint name, which contains the step"
        raise Refused("checkpoint-form", message, "name it step-00000100, in a folder of checkpoints")
    if not source.exists():
        raise Refused("checkpoint-no-folder", f"{source} does not exist", "pass an existing file or folder")
    state = _read_other(source, form)
    if all(isinstance(value, torch.Tensor) for value in state.values()):
        state = {name: state}  # the bare weights of a model
    _same_model(state, target.parent)
    state.setdefault("run", {"loss": None})
    with _AtomicTarget(target, use_target_name=True) as scratch:
        try:
            write_step(scratch, _step(target), state)
            _compare(state, load(scratch)[0], "ours")
        except (Damaged, *tree.CRAFTED) as error:
            message = f"{source} cannot be written in our format: {_first_line(error)}"
            raise Refused(
                "checkpoint-not-carried", message, "save a state_dict of tensors and plain values"
            ) from None
    return [RANDOM]


def _read_other(source: Path, form: str) -> dict[str, Any]:
    try:
        state = forms.FORMS[form][1](source)
    except (Damaged, OSError, *tree.CRAFTED) as error:
        reason = _ADVICE.split(_first_line(error))[0]
        if form == "torch" and "global" in str(error).lower():  # in torch's message about refused classes
            message = f"{source} holds more than values, and loading it would run code: {reason}"
            raise Refused(
                "checkpoint-unsafe", message, "save only its state_dict, and convert that"
            ) from None
        message = f"{source} cannot be read as {form}: {reason}"
        raise Refused(
            "checkpoint-unreadable", message, "check that the file is complete and has that format"
        ) from None
    if not isinstance(state, dict) or not state:
        raise Refused("checkpoint-unreadable", f"{source} holds no dict", "save a state_dict") from None
    return state


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _model(shared: dict[str, Any], name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the tensors of one tracked module by name, and the names of all other state that is left out.

    Raises Refused if there is no such module.
    """
    chosen = shared.get(name)
    if not isinstance(chosen, dict):
        message = f"the checkpoint has no `{name}`, only {', '.join(shared)}"
        raise Refused("checkpoint-no-model", message, "pass the name of the model: --name NAME")
    tensors = {key: value for key, value in chosen.items() if isinstance(value, torch.Tensor)}
    omissions = [other_name for other_name in shared if other_name != name]
    return tensors, omissions + [f"{name}/{key}" for key in chosen if key not in tensors]


def _same_model(state: dict[str, Any], folder: Path) -> None:
    """Raise Refused if the folder's newest readable checkpoint is of another model, naming tensors that differ.

    A folder without a readable one passes.
    """
    for path in sorted(folder.glob("step-*"), reverse=True):
        try:
            saved = _saved_shapes(path)
        except (Damaged, OSError):
            continue
        differ = list(_differences(saved, _shapes(state)))
        if differ:
            more = f"; and {len(differ) - 5} more" if len(differ) > 5 else ""
            message = f"{folder} holds checkpoints of another model: {'; '.join(differ[:5])}{more}"
            raise Refused("checkpoint-other-model", message, "choose another folder")
        return


def _saved_shapes(path: Path) -> dict[str, list[int]]:
    """Return the shapes of a checkpoint's tensors by name, without optimizer state, from its files' headers."""
    shapes: dict[str, list[int]] = {}
    for part_record in manifest.read(path).parts:
        with disk.reader(path, part_record) as reader:
            shapes.update({entry.name: list(entry.full_shape) for entry in reader.entries})
    reserved = ("rank", "tree")
    return {name: shape for name, shape in shapes.items() if name not in reserved and not _of_optimizer(name)}


def _shapes(state: dict[str, Any]) -> dict[str, list[int]]:
    tensors: dict[str, torch.Tensor] = {}
    tree.flatten(state, "", tensors)
    return {name: list(tensor.shape) for name, tensor in tensors.items() if not _of_optimizer(name)}


def _of_optimizer(name: str) -> bool:
    """Return True if the tensor of this name is optimizer state, which exists only after the first step."""
    return name.startswith("optimizer/")


def _differences(saved: dict[str, list[int]], new: dict[str, list[int]]) -> Iterator[str]:
    for name in sorted(saved.keys() | new.keys()):
        if name not in new:
            yield f"{name} {saved[name]} is only in the folder"
        elif name not in saved:
            yield f"{name} {new[name]} is only in the new checkpoint"
        elif saved[name] != new[name]:
            yield f"{name} is {saved[name]} in the folder and {new[name]} in the new checkpoint"


class _AtomicTarget:
    """A context manager for a temporary path next to the target, renamed to it on success and removed on failure.

    SIGTERM and SIGHUP, unless the process handles or ignores them, end it as a failure.
    """

    def __init__(self, target: Path, *, use_target_name: bool = False) -> None:
        self._target, self._name = target, target.name if use_target_name else "converted"

    def __enter__(self) -> Path:
        self._created_parent = not self._target.parent.exists()
        is_main = threading.current_thread() is threading.main_thread()
        signals = (signal.SIGTERM, signal.SIGHUP) if is_main else ()
        self._signals = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
        for number in self._signals:
            signal.signal(number, _exit)
        try:
            self._target.parent.mkdir(exist_ok=True)
            self._folder = PartialFolder(self._target)
        except OSError as error:
            raise self._refused(error) from None
        return self._folder.path / self._name

    def __exit__(self, kind: object, reason: BaseException | None, trace: object) -> None:
        try:
            if reason is None:
                self._folder.commit(self._name)
        except OSError as failed:
            reason = failed
        self._folder.remove()
        for number in self._signals:
            signal.signal(number, signal.SIG_DFL)
        if self._created_parent and reason is not None:
            with suppress(OSError):
                self._target.parent.rmdir()
        cause = reason
        while cause is not None and not isinstance(cause, OSError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, OSError):
            raise self._refused(cause) from None

    def _refused(self, reason: OSError) -> Refused:
        message = f"cannot write {self._target}: {reason.strerror}; no files were left"
        return Refused("checkpoint-not-written", message, "choose a path with free space")


def _exit(number: int, _frame: object) -> None:
    """Raise SystemExit with the exit code of a shell for a process that this signal ended."""
    raise SystemExit(128 + number)


def _compare(expected: Any, actual: Any, form: str) -> None:
    """Raise Refused if a value of the result differs from the source in any bit; else do nothing."""
    for path in _unlike(expected, actual, ""):
        message = f"{path} changes in the format {form}"
        raise Refused("checkpoint-not-carried", message, "choose another form")


def _unlike(a: Any, b: Any, path: str) -> Iterator[str]:
    """Yield the paths of values that differ in two nested states; two NaN are equal, tensors compare bit by bit.

    Of dicts with different keys, only the path of one such key.
    """
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape or not torch.equal(forms.flat(a), forms.flat(b)):
            yield path
    elif isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            yield f"{path}/{next(iter(a.keys() ^ b.keys()))}"
        else:
            for key in a:
                yield from _unlike(a[key], b[key], f"{path}/{key}" if path else str(key))
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        for index, item in enumerate(a):
            yield from _unlike(item, b[index], f"{path}/{index}")
    elif isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor) or (a != b and a == a):  # noqa: PLR0124 (NaN)
        yield path


def write_step(folder: Path, step: int, state: dict[str, Any]) -> None:
    """Write a state as a checkpoint of one rank into a new step folder."""
    tensors: dict[str, torch.Tensor] = {}
    skeleton = tree.flatten(state, "", tensors)
    tensors |= {"rank": tree.pack({}), "tree": tree.pack(skeleton)}
    chunks = [Chunk(name, tensor) for name, tensor in tensors.items()]
    plan = part.layout(chunks)
    staged = torch.empty(plan.bytes, dtype=torch.uint8)
    part.stage(plan, chunks, staged)
    folder.mkdir()
    written_part = disk.write(folder / "part-00000-of-00001.safetensors", plan, staged)
    manifest.write(folder, manifest.Manifest(step, 1, torch.__version__, time.time(), (written_part,)))


def _step(target: Path) -> int:
    digits = target.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def main() -> int:
    """Convert a checkpoint as the command line says; return 0, or 1 with the reason on stderr if it is refused.

    For hosts and jobs without `wright`.
    """
    parser = argparse.ArgumentParser(
        prog="convert", description="Convert a checkpoint to or from another format."
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--to", choices=tuple(forms.FORMS))
    parser.add_argument("--from", dest="origin", choices=("torch", "dcp"))
    parser.add_argument("--name", default="model", help="name under which the model was tracked")
    try:
        result = convert(**vars(parser.parse_args()))
    except Refused as error:
        sys.stderr.write(f"{error}; {error.fix}\n")
        return 1
    sys.stdout.write(
        f"{result['target']}: {result['bytes']} bytes; without {', '.join(result['left_behind'])}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
