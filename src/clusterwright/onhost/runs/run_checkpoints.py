"""List, verify and convert checkpoints on a machine that can read them (Python 3.8; torch except to list).

This file runs on the operator, or is sent to `python -` on a host, where PYTHONPATH has the runtime. Its
arguments are the action, a path and a JSON object of options; its output is one JSON object. A user error is
an output too: `{"trouble": CODE, "message": ..., "fix": ...}`.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.lib.as_owner import WorkLimits, as_owner
from clusterwright.onhost.lib.checkpoint_manifest import LIMIT_BYTES
from clusterwright.onhost.lib.checkpoint_manifest import NAME as MANIFEST
from clusterwright.onhost.lib.files import append
from clusterwright.onhost.lib.json_lines import read_lines
from clusterwright.onhost.lib.safe_reader import list_folder, read_object, read_text, walk_folder

Row = Dict[str, Any]
STEP = re.compile(r"step-([0-9]{8,})")
VERIFIED_LOG = "verified.jsonl"
PIECE_BYTES = 64 << 20  # read and verified at once
OTHER_FORMAT = "other-format"  # state of a checkpoint that this version does not read
DEFAULT_RETENTION = 3  # the runtime's default for runs without `checkpoint.save_total_limit`


class Trouble(Exception):  # noqa: N818 (an answer, shown by the caller)
    """An error of an action that the user can fix, with a code, a message and a fix."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code, self.fix = code, fix


def main() -> int:
    """Run the action of argument 1 on the path with JSON options, print its answer as JSON; return 0."""
    json.dump(answer(ACTIONS[sys.argv[1]], sys.argv[2], **json.loads(sys.argv[3])), sys.stdout)
    return 0


def answer(action: Callable[..., Row], path: str, **options: Any) -> Row:
    """Run an action and return its result, or its error as a document; for root it runs as the owner of the path.

    If the path does not exist, its nearest parent that does decides the owner.
    """
    existing = next(
        parent for parent in (Path(path), *Path(path).absolute().parents) if os.path.lexists(parent)
    )
    if os.geteuid() == 0 and action is not listing:
        with suppress(Trouble):  # raised again by the action; the owner may not be able to read root's torch
            runtime("manifest", "disk", "source", "convert")
    limits = LIMITS.get(action, WorkLimits())
    try:
        return dict(as_owner(existing, lambda: _answer(action, path, options), limits))
    except OSError as error:
        return _unreadable(error)


def _answer(action: Callable[..., Row], path: str, options: Dict[str, Any]) -> Row:
    try:
        return action(path, **options)
    except Trouble as trouble:
        return {"trouble": trouble.code, "message": str(trouble), "fix": trouble.fix}
    except OSError as error:
        return _unreadable(error)


def _unreadable(error: OSError) -> Row:
    return {
        "trouble": "checkpoint-unreadable",
        "message": f"{error.strerror}: {error.filename}" if error.filename else str(error),
        "fix": "check that the folder is mounted and that its owner, as whom root works there, may read it"
        if os.geteuid() == 0
        else "check that the folder is mounted and that you may read it",
    }


def listing(path: str) -> Row:
    """Return the checkpoints of a run or folder, newest first, with state, size and fate, and unfinished saves."""
    folder = checkpoints_of(Path(path))
    verifications, retention = read_marks(folder), retention_of(folder)
    rows = [about(folder / name, verifications) for name in step_names(folder)]
    best, latest = best_of(rows), folder / "latest"
    for row in rows:
        row["tags"] = ["best"] * (row["step"] == best)
        if latest.is_symlink() and os.readlink(str(latest)) == row["name"]:
            row["tags"].append("latest")
    outcomes = fates(rows, retention)
    for number, row in enumerate(rows):
        row["fate"] = outcomes[number]
    return {
        "folder": str(folder),
        "save_total_limit": retention,
        "checkpoints": rows,
        "partial": partial_saves(folder),
    }


def checkpoints_of(path: Path) -> Path:
    """Return the folder of checkpoints that a path is, is a step of, or (a run) has; raise Trouble for any other."""
    if not path.is_dir():
        fix = "name a run, its folder, or a folder of checkpoints; to convert a file: --from torch"
        raise Trouble("checkpoint-no-folder", f"{path} is not a folder", fix)
    named, record = path, read_object(path / "job.json")
    if record or (path / "checkpoints").is_dir():
        folder = settings(record).get("folder")
        path = Path(folder if folder and isinstance(folder, str) else path / "checkpoints")
    elif STEP.fullmatch(path.name):
        path = path.parent
    if not step_names(path) and not partial_saves(path):
        raise _without_checkpoints(named, path, is_run=bool(record))
    return path


def _without_checkpoints(named: Path, folder: Path, *, is_run: bool) -> Trouble:
    """Return the error that says why `folder`, of the path `named` by the user, has no checkpoint."""
    fix = "wait for the first save after `checkpoint.every`; wright logs shows what the run does"
    if not is_run and folder == named:
        message = f"{'the current folder' if str(named) == '.' else named} is no run and has no checkpoints"
        fix = "name a run that `wright jobs` lists, the folder of a run, or a folder with checkpoints"
    elif (named / "ended.json").exists():
        message = f"run {named.name} has ended without a checkpoint"
        fix = "set `checkpoint.every` to less than the duration of the run; see wright logs"
    else:
        message = f"no checkpoint in {folder}"
    return Trouble("checkpoint-none", message, fix)


def settings(record: Row) -> Row:
    """Return the field `job.checkpoint` of a run's record (job.json); empty if the record is invalid."""
    job = record.get("job")
    checkpoint = job.get("checkpoint") if isinstance(job, dict) else None
    return checkpoint if isinstance(checkpoint, dict) else {}


def step_names(folder: Path) -> List[str]:
    """Return the names of the step folders (`step-00000100`) in a folder, the newest first."""
    matches = [STEP.fullmatch(name) for name in list_folder(folder)]
    return [match[0] for match in sorted(filter(None, matches), key=lambda match: -int(match[1]))]


def about(path: Path, verifications: Dict[str, Row]) -> Row:
    """Return a checkpoint's facts and state by its manifest, file sizes and last verification; reads no tensors."""
    row: Row = {
        "name": path.name,
        "step": int(path.name[5:]),
        "state": "",
        "reason": "",
        "time": None,
        "bytes": 0,
        "world_size": None,
        "torch": "",
        "value": None,
        "verified_at": None,
    }
    try:
        manifest, row["reason"] = read_manifest(path)
    except checkpoint_manifest.OtherFormat as error:
        return {**row, "state": OTHER_FORMAT, "reason": f"{path.name} {error}"}
    if not row["reason"]:
        row.update({name: manifest.get(name) for name in ("time", "world_size", "torch", "value")})
        row["bytes"] = sum(part["bytes"] for part in manifest["parts"])
        row["reason"] = missing(path, manifest["parts"])
    if row["reason"]:
        return {**row, "state": "damaged"}
    # A save reads back its files before it writes the manifest (runtime/checkpoints/async_saver.py).
    row.update(state="verified", verified_at=manifest["time"])
    verification = verifications.get(path.name, {})
    if verification.get("manifest") == manifest["sha256"]:
        row.update(
            state="damaged" if verification["reason"] else "verified",
            reason=verification["reason"],
            verified_at=verification["time"],
        )
    return row


def read_manifest(path: Path) -> Any:
    """Return a checkpoint's manifest and "", or {} and what is wrong with it; raises OtherFormat."""
    try:
        manifest = checkpoint_manifest.parse(read_text(path / MANIFEST, LIMIT_BYTES))
        sizes = [(part["file"], part["bytes"]) for part in manifest["parts"]]
        if not checkpoint_manifest.are_valid(manifest):
            return {}, f"{MANIFEST} has an invalid field"
    except FileNotFoundError:
        return {}, f"no {MANIFEST}: the save did not finish, or its deletion was interrupted"
    except checkpoint_manifest.OtherFormat:
        raise
    except checkpoint_manifest.InvalidManifest as error:
        return {}, f"{MANIFEST} {error}"
    except (OSError, KeyError, TypeError) as error:
        return {}, f"{MANIFEST} cannot be read: {error}"
    return (manifest, "") if sizes else ({}, f"{MANIFEST} lists no files")


def missing(path: Path, parts: List[Row]) -> str:
    """Return as text which files of a checkpoint are missing, links, or of another size; empty if none."""
    problems = []
    for part in parts:
        try:
            status = os.lstat(path / part["file"])
        except FileNotFoundError:
            problems.append(f"{part['file']} is missing")
            continue
        except OSError as error:
            problems.append(f"{part['file']}: {error.strerror}")
            continue
        if not stat.S_ISREG(status.st_mode):
            problems.append(f"{part['file']} is not a regular file")
        elif status.st_size != part["bytes"]:
            problems.append(f"{part['file']} has {status.st_size} bytes of {part['bytes']}")
    return "; ".join(problems)


def fates(rows: List[Row], retention: int) -> List[str]:
    """Return for each checkpoint, newest first, whether the next good save retains (`stays`) or deletes it.

    The runtime deletes all but the newest `retention` good ones and the best.
    """
    intact_count, outcomes = 1, []
    for row in rows:
        outcomes.append("goes next" if intact_count >= retention and "best" not in row["tags"] else "stays")
        intact_count += row["state"] == "verified"
    return outcomes


def retention_of(folder: Path) -> int:
    """Return the number of checkpoints that the run of this folder retains, at least 2."""
    limit = settings(read_object(folder.parent / "job.json")).get("save_total_limit")
    return max(2, limit) if isinstance(limit, int) else DEFAULT_RETENTION


def best_of(rows: List[Row]) -> Any:
    """Return the verified step with the lowest value (such as a loss), the newest of several; None without values."""
    values = [
        (row["value"], -row["step"])
        for row in rows
        if row["state"] == "verified" and row["value"] is not None and row["value"] == row["value"]
    ]
    return -min(values)[1] if values else None


def partial_saves(folder: Path) -> List[Row]:
    """Return unfinished saves and deletions with their bytes; the run's next generation deletes them."""
    saves = []
    for name in sorted(list_folder(folder)):
        if name.startswith(".partial-"):
            sizes = [os.lstat(path).st_size for path in walk_folder(folder / name)]
            if sizes:  # a running training has an empty one for its next save
                saves.append({"name": name, "bytes": sum(sizes), "time": (folder / name).stat().st_mtime})
    return saves


def verify(path: str, step: int | None, everything: bool) -> Row:  # noqa: FBT001 (an option from the JSON object)
    """Verify every byte of the newest checkpoint, of that of `step`, or of all; record and return the outcomes."""
    folder = checkpoints_of(Path(path))
    named = Path(path).name if STEP.fullmatch(Path(path).name) else None
    names = step_names(folder)
    if step is not None or named:
        requested = f"step-{step:08d}" if step is not None else str(named)
        if requested not in names:
            step_list = ", ".join(str(int(name[5:])) for name in names) or "none"
            raise Trouble(
                "checkpoint-no-step",
                f"no checkpoint {requested} in {folder}",
                f"choose one of the steps: {step_list}",
            )
        names = [requested]
    rows = [verified(folder / name) for name in (names if everything else names[:1])]
    return {"folder": str(folder), "checkpoints": rows}


def verified(path: Path) -> Row:
    """Verify one checkpoint, record the outcome in the folder, and return its facts as `about` does.

    With `seconds` and `noted`, which is False if the record failed; one in another format is not verified.
    """
    begun = time.monotonic()
    row = about(path, {})
    if row["state"] == OTHER_FORMAT:
        return {**row, "seconds": 0.0, "noted": True}
    problems = list(damages(path))
    row.update(
        state="damaged" if problems else "verified", reason="; ".join(problems), verified_at=time.time()
    )
    row["seconds"] = time.monotonic() - begun
    row["noted"] = note(path.parent, row)
    return row


def damages(path: Path) -> Iterator[str]:
    """Read all tensors of a checkpoint and yield a text for each damage; none if it is intact."""
    manifest, disk, source = runtime("manifest", "disk", "source")
    try:
        content = manifest.read(path)
    except source.Damaged as error:
        yield str(error)
        return
    for part in content.parts:
        try:
            with disk.reader(path, part) as reader:
                yield from torn(reader, source.Damaged)
        except source.Damaged as error:
            yield str(error)


def torn(reader: Any, damaged: Any) -> Iterator[str]:
    """Read every tensor of a part, in pieces (a file may claim a size beyond all memory); yield each damage."""
    for entry in reader.entries:
        size = entry.end - entry.start
        try:
            for start in range(0, size, PIECE_BYTES):
                reader.read_bytes(entry, start, min(size, start + PIECE_BYTES))
        except damaged as error:
            yield str(error)


def convert(path: str, target: str, to: str | None, origin: str | None, name: str = "model") -> Row:
    """Convert a checkpoint to the format `to`, or from `origin` to ours, into `target`; return what was written.

    Of a run or folder the newest intact checkpoint; without an intact one, the newest.

    Raises:
        Trouble: the conversion is refused, or torch is missing.
    """
    (forms,) = runtime("convert")
    source = Path(path)
    if to and not STEP.fullmatch(source.name):
        rows = listing(path)
        intact = [row["name"] for row in rows["checkpoints"] if row["state"] == "verified"]
        source = Path(rows["folder"]) / (intact or step_names(Path(rows["folder"])) or ["none"])[0]
    try:
        return dict(forms.convert(source, Path(target), to=to, origin=origin, name=name))
    except forms.Refused as error:
        raise Trouble(error.code, str(error), error.fix) from None


def runtime(*names: str) -> List[Any]:
    """Import modules of the runtime's checkpoints and return them; raise Trouble without torch, which they need."""
    try:
        return [
            __import__(f"clusterwright.runtime.checkpoints.{name}", fromlist=["runtime"]) for name in names
        ]
    except ImportError as error:
        raise Trouble(
            "checkpoint-no-torch",
            f"torch, which reads a checkpoint's values, cannot be imported: {error}",
            "run pip install torch, or on a cluster name a host that has it: --host gpu-node1",
        ) from None


def note(folder: Path, row: Row) -> bool:
    """Append the outcome of a verification to the log in the folder; return False if that fails."""
    checksum = read_object(folder / row["name"] / MANIFEST, LIMIT_BYTES).get("sha256")
    line = {
        "name": row["name"],
        "manifest": checksum
        if isinstance(checksum, str) and checkpoint_manifest.CHECKSUM.fullmatch(checksum)
        else None,
        "time": row["verified_at"],
        "reason": row["reason"],
    }
    try:
        append(folder / VERIFIED_LOG, json.dumps(line).encode() + b"\n")
    except OSError:
        return False
    return True


def read_marks(folder: Path) -> Dict[str, Row]:
    """Return the newest verification of each checkpoint, by name, from the log in the folder; empty without it."""
    try:
        return {entry["name"]: entry for entry in read_lines(folder / VERIFIED_LOG) if _is_mark(entry)}
    except OSError:
        return {}


def _is_mark(entry: Row) -> bool:
    texts = isinstance(entry.get("name"), str) and isinstance(entry.get("reason"), str)
    return texts and isinstance(entry.get("time"), (int, float))


ACTIONS: Dict[str, Callable[..., Row]] = {"list": listing, "verify": verify, "convert": convert}
# For checkpoints of any size; torch's threads have stacks, and a conversion holds whole tensors.
LIMITS: Dict[Callable[..., Row], WorkLimits] = {
    verify: WorkLimits(memory_bytes=8 << 30),
    convert: WorkLimits(memory_bytes=None),
}

if __name__ == "__main__":
    sys.exit(main())
