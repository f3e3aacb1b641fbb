"""Checkpoints as a machine that sees them tells of them: list and verify (Python 3.8; torch only to verify).

This file is run here, and is sent as it stands to `python -` on a host of the cluster; there it is told where the
runtime lies by PYTHONPATH. Its arguments are what to do, where, and one JSON object; it answers with one JSON object.
What is wrong is an answer too: `{"trouble": CODE, "message": ..., "fix": ...}`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

from clusterwright.onhost.lib.json_lines import read_lines
from clusterwright.onhost.lib.safe_reader import list_folder, read_object, read_text

Row = Dict[str, Any]
STEP = re.compile(r"step-(\d{8,})")
MANIFEST, VERIFIED_LOG = "manifest.json", "verified.jsonl"
MANIFEST_BYTES = 256 << 20  # it has a checksum for each MiB
DEFAULT_RETENTION = 3  # of a run that does not say how many it keeps, as the runtime does


class Trouble(Exception):  # noqa: N818 (an answer, which somebody else shows)
    """What a user can fix."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code, self.fix = code, fix


def main() -> int:
    """Do what the arguments say."""
    json.dump(answer(ACTIONS[sys.argv[1]], sys.argv[2], **json.loads(sys.argv[3])), sys.stdout)
    return 0


def answer(action: Callable[..., Row], path: str, **options: Any) -> Row:
    """What the act says, or what was wrong."""
    try:
        return action(path, **options)
    except Trouble as trouble:
        return {"trouble": trouble.code, "message": str(trouble), "fix": trouble.fix}
    except OSError as error:
        fix = "see that the folder is mounted and that you may read it"
        return {
            "trouble": "checkpoint-unreadable",
            "message": f"{error.strerror}: {error.filename}",
            "fix": fix,
        }


def listing(path: str) -> Row:
    """Every checkpoint of a run or of a folder, the newest first, and the saves that were never finished."""
    folder = checkpoints_of(Path(path))
    verifications, retention = read_marks(folder), retention_of(folder)
    rows = [about(folder / name, verifications) for name in step_names(folder)]
    best, latest = best_of(rows), folder / "latest"
    for row in rows:
        row["marks"] = ["best"] * (row["step"] == best)
        if latest.is_symlink() and os.readlink(str(latest)) == row["name"]:
            row["marks"].append("latest")
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
    """The folder of checkpoints that is meant: by itself, by its run, or by one of its steps."""
    if not path.is_dir():
        raise Trouble(
            "checkpoint-no-folder",
            f"{path} is no folder",
            "name a run, its folder, or a folder of checkpoints",
        )
    record = read_object(path / "job.json")
    if record or (path / "checkpoints").is_dir():
        folder = record.get("job", {}).get("checkpoint", {}).get("folder")
        path = Path(folder or path / "checkpoints")
    elif STEP.fullmatch(path.name):
        path = path.parent
    if not step_names(path) and not partial_saves(path):
        raise Trouble(
            "checkpoint-none",
            f"there is no checkpoint in {path}",
            "a run makes its first one after `checkpoint.every`; see what it does with wright logs",
        )
    return path


def step_names(folder: Path) -> List[str]:
    """Names of the folders of steps, the newest first."""
    matches = [STEP.fullmatch(name) for name in list_folder(folder)]
    return [match[0] for match in sorted(filter(None, matches), key=lambda match: -int(match[1]))]


def about(path: Path, verifications: Dict[str, Row]) -> Row:
    """What a checkpoint says of itself, and whether what it speaks of is there; no part is read."""
    row: Row = {
        "name": path.name,
        "step": int(path.name[5:]),
        "state": "",
        "why": "",
        "time": None,
        "bytes": 0,
        "world_size": None,
        "torch": "",
        "value": None,
        "verified_at": None,
    }
    manifest, row["why"] = read_manifest(path)
    if not row["why"]:
        row.update({name: manifest.get(name) for name in ("time", "world_size", "torch", "value")})
        row["bytes"] = sum(part["bytes"] for part in manifest["parts"])
        row["why"] = missing(path, manifest["parts"])
    if row["why"]:
        return {**row, "state": "damaged"}
    # A save reads back what it wrote before it writes the manifest (runtime/behind.py).
    row.update(state="verified", verified_at=manifest["time"])
    verification = verifications.get(path.name, {})
    if verification.get("manifest") == manifest["sha256"]:
        row.update(
            state="damaged" if verification["why"] else "verified",
            why=verification["why"],
            verified_at=verification["time"],
        )
    return row


def read_manifest(path: Path) -> Any:
    """The words of a manifest, and what is wrong with it."""
    try:
        manifest = json.loads(read_text(path / MANIFEST, MANIFEST_BYTES))
        fields = {name: value for name, value in manifest.items() if name != "sha256"}
        is_intact = (
            manifest["sha256"] == hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        )
        sizes = [(part["file"], part["bytes"]) for part in manifest["parts"]]
    except FileNotFoundError:
        return {}, f"no {MANIFEST}: its save was never finished, or it was half deleted"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return {}, f"{MANIFEST} cannot be read: {error}"
    if not is_intact or not sizes:
        return {}, f"{MANIFEST} does not match its own checksum"
    return manifest, ""


def missing(path: Path, parts: List[Row]) -> str:
    """The parts that are not there in the size that the manifest says; in words, empty if all are."""
    problems = []
    for part in parts:
        try:
            size = (path / part["file"]).stat().st_size
        except FileNotFoundError:
            problems.append(f"{part['file']} is missing")
            continue
        if size != part["bytes"]:
            problems.append(f"{part['file']} has {size} bytes of {part['bytes']}")
    return "; ".join(problems)


def fates(rows: List[Row], retention: int) -> List[str]:
    """What becomes of each when the next save is good: it stays, or it is the next to go.

    As the runtime does it: what is older than the newest N good ones goes, but for the best.
    """
    intact_count, outcomes = 1, []
    for row in rows:
        outcomes.append("goes next" if intact_count >= retention and "best" not in row["marks"] else "stays")
        intact_count += row["state"] != "damaged"
    return outcomes


def retention_of(folder: Path) -> int:
    """How many checkpoints the run keeps."""
    job = read_object(folder.parent / "job.json").get("job", {})
    return max(2, int(job.get("checkpoint", {}).get("save_total_limit", DEFAULT_RETENTION)))


def best_of(rows: List[Row]) -> Any:
    """The step with the lowest measure, the newest of several; None when nothing was measured."""
    values = [
        (row["value"], -row["step"])
        for row in rows
        if row["state"] != "damaged" and row["value"] is not None and row["value"] == row["value"]
    ]
    return -min(values)[1] if values else None


def partial_saves(folder: Path) -> List[Row]:
    """What saves have begun and not finished, and removals; the next generation clears them."""
    saves = []
    for name in sorted(list_folder(folder)):
        if name.startswith(".partial-"):
            sizes = [path.stat().st_size for path in (folder / name).rglob("*") if path.is_file()]
            if sizes:  # a training that runs has an empty one, for its next save
                saves.append({"name": name, "bytes": sum(sizes), "time": (folder / name).stat().st_mtime})
    return saves


def verify(path: str, step: int | None, everything: bool) -> Row:  # noqa: FBT001 (an option as it comes over the wire)
    """Every byte of the newest checkpoint, of that step, or of all; and the outcome is kept beside them."""
    folder = checkpoints_of(Path(path))
    named = Path(path).name if STEP.fullmatch(Path(path).name) else None
    names = step_names(folder)
    if step is not None or named:
        requested = f"step-{step:08d}" if step is not None else str(named)
        if requested not in names:
            step_list = ", ".join(str(int(name[5:])) for name in names) or "none"
            raise Trouble(
                "checkpoint-no-step",
                f"there is no checkpoint {requested} in {folder}",
                f"there are steps: {step_list}",
            )
        names = [requested]
    rows = [verified(folder / name) for name in (names if everything else names[:1])]
    return {"folder": str(folder), "checkpoints": rows}


def verified(path: Path) -> Row:
    """One checkpoint after every byte has been read."""
    begun = time.monotonic()
    problems = list(damages(path))
    row = about(path, {})
    row.update(state="damaged" if problems else "verified", why="; ".join(problems), verified_at=time.time())
    row["seconds"] = time.monotonic() - begun
    row["noted"] = note(path.parent, row)
    return row


def damages(path: Path) -> Iterator[str]:
    """What is wrong, with the names of the files and of the tensors."""
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
    """What is wrong with each tensor of a part, read one after the other."""
    for entry in reader.entries:
        try:
            reader.read(entry)
        except damaged as error:
            yield str(error)


def convert(path: str, target: str, to: str | None, origin: str | None, name: str = "model") -> Row:
    """One form into another; of a run or a folder, its newest checkpoint that is whole."""
    (forms,) = runtime("convert")
    source = Path(path)
    if to and not STEP.fullmatch(source.name):
        rows = listing(path)
        intact = [row["name"] for row in rows["checkpoints"] if row["state"] != "damaged"]
        source = Path(rows["folder"]) / (intact or step_names(Path(rows["folder"])) or ["none"])[0]
    try:
        return dict(forms.convert(source, Path(target), to=to, origin=origin, name=name))
    except forms.Refused as error:
        raise Trouble(error.code, str(error), error.fix) from None


def runtime(*names: str) -> List[Any]:
    """Modules of the runtime; it needs torch."""
    try:
        return [
            __import__(f"clusterwright.runtime.checkpoints.{name}", fromlist=["runtime"]) for name in names
        ]
    except ImportError as error:
        raise Trouble(
            "checkpoint-no-torch",
            f"the values of a checkpoint are read with torch, and here: {error}",
            "pip install torch; or on a cluster name a host that has it: --host gpu-node1",
        ) from None


def note(folder: Path, row: Row) -> bool:
    """Append the outcome to the folder's notes; False when that is not allowed here."""
    manifest = read_object(folder / row["name"] / MANIFEST, MANIFEST_BYTES)
    line = {
        "name": row["name"],
        "manifest": manifest.get("sha256"),
        "time": row["verified_at"],
        "why": row["why"],
    }
    try:
        handle = os.open(str(folder / VERIFIED_LOG), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
    except OSError:
        return False
    with os.fdopen(handle, "wb") as file:
        file.write(json.dumps(line).encode() + b"\n")
    return True


def read_marks(folder: Path) -> Dict[str, Row]:
    """The newest note of each checkpoint."""
    try:
        return {entry["name"]: entry for entry in read_lines(folder / VERIFIED_LOG)}
    except OSError:
        return {}


ACTIONS: Dict[str, Callable[..., Row]] = {"list": listing, "verify": verify, "convert": convert}

if __name__ == "__main__":
    sys.exit(main())
