"""Write the folder of an image, build it with buildah or podman, and record what was built."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from clusterwright.config.cluster import Cluster
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.own_folders import create_own_folder
from clusterwright.edge.processes import lines, run, writer_to
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.launch.image.containerfile import LOCK, MARKER, PINS_IN_IMAGE, REQUIREMENTS_LOCK
from clusterwright.onhost.lib.safe_reader import parse_document, text_or_empty
from clusterwright.onhost.lib.trusted_paths import PathStep

TOOLS = ("buildah", "podman")  # in the order of preference
BUILD_LOG = "build.log"
_QUERY_S = 120


@dataclass(frozen=True, slots=True)
class BuiltImage:
    """An image in the local storage: its tag and id, and the digest of its base, "" if the base has none."""

    tag: str
    image: str
    base_digest: str


def find_tool() -> str:
    """Return buildah or podman, whichever is installed; "" without either."""
    return next((tool for tool in TOOLS if shutil.which(tool)), "")


def build_command(tool: str, folder: Path, tag: str) -> tuple[str, ...]:
    """Return the command line that builds the image of a folder."""
    verb = "bud" if tool == "buildah" else "build"  # `bud` also in releases before 1.19
    return (tool, verb, "--tag", tag, "--file", str(folder / "Containerfile"), str(folder))


def write_folder(folder: Path, files: dict[str, str]) -> None:
    """Write the files of an image; its build log and lock of requirements stay.

    Raises:
        WrightError: `image-folder`: the folder has files of another origin, another user could exchange the
            Containerfile that is built, or a relative path leads through a link, which a repository may contain.
    """
    require_no_link(folder)
    folder = create_own_folder(folder, _foreign_folder, holds_folders=True)
    containerfile = folder / "Containerfile"
    is_ours = text_or_empty(str(containerfile)).startswith(MARKER)
    existing = next(
        (folder / name for name in ("Containerfile", *files) if os.path.lexists(folder / name)), None
    )
    if existing and not is_ours:
        raise WrightError.from_code(
            "image-folder",
            _("{file} was not written by `wright image build`", file=existing),
            _("use another folder, or move the file away"),
            exit_code=EXIT_USAGE,
        )
    for name, text in files.items():
        write_file_atomic(folder / name, text)


def require_no_link(folder: Path) -> None:
    """Raise WrightError if a relative path has a link: one of a repository leads to any folder of its reader."""
    steps = [] if folder.is_absolute() else [folder, *folder.parents]
    if link := next((step for step in steps if step.is_symlink()), None):
        raise WrightError.from_code(
            "image-folder",
            _("{folder} is a link to {target}", folder=link, target=os.path.realpath(link)),
            _("name the folder itself: --out {folder}", folder=shlex.quote(os.path.realpath(folder))),
            exit_code=EXIT_USAGE,
        )


def _foreign_folder(step: PathStep, _risk: str) -> WrightError:
    """Return the error of a folder in which another user could exchange the Containerfile."""
    return WrightError.from_code(
        "image-folder",
        _("other users can change {folder}, and with it what is built", folder=step.path),
        _("use a folder of your own"),
        exit_code=EXIT_USAGE,
    )


def build(tool: str, folder: Path, tag: str) -> BuiltImage | None:
    """Build the container image and record it in image.lock.json; return what was recorded, None if it fails.

    `tool` is buildah or podman. The output of the build goes to the terminal and to build.log.
    """
    log: list[str] = []
    on_terminal = writer_to(sys.stderr)

    def show(line: bytes) -> None:
        log.append(line.decode(errors="replace"))
        on_terminal(line)

    try:
        code = lines(build_command(tool, folder, tag), show, on_error=show)
    finally:
        write_file_atomic(folder / BUILD_LOG, "".join(log))
    if code:
        return None
    image = _inspect(tool, tag)
    write_file_atomic(folder / REQUIREMENTS_LOCK, _pins(tool, tag))
    document = parse_document((folder / LOCK).read_text(encoding="utf-8"))
    document["built"] = {"tag": image.tag, "image": image.image, "base_digest": image.base_digest}
    write_file_atomic(folder / LOCK, json.dumps(document, indent=2) + "\n")
    return image


def _inspect(tool: str, tag: str) -> BuiltImage:
    if tool == "podman":
        result = run((tool, "image", "inspect", tag), timeout_s=_QUERY_S)
        document = parse_document(result.out)[0] if result.ok else {}
        annotations = document.get("Annotations") or {}
        digest = annotations.get("org.opencontainers.image.base.digest", "")
        return BuiltImage(tag, document.get("Id", ""), digest)
    result = run((tool, "inspect", "--type", "image", tag), timeout_s=_QUERY_S)
    document = parse_document(result.out) if result.ok else {}
    annotations = document.get("ImageAnnotations") or {}
    digest = annotations.get("org.opencontainers.image.base.digest", "")
    return BuiltImage(tag, document.get("FromImageID", ""), digest)


def _pins(tool: str, tag: str) -> str:
    """Return the versions of all Python packages in the image; "" if they cannot be read."""
    if tool == "podman":
        argv = (tool, "run", "--rm", "--network", "none", "--entrypoint", "cat", tag, PINS_IN_IMAGE)
        return _output(argv)
    container = _output((tool, "from", tag)).strip()
    try:
        reading = (tool, "run", container, "--", "cat", PINS_IN_IMAGE)
        return (
            (_output(reading) or _output(reading)) if container else ""
        )  # once empty on a machine with a load of 12
    finally:
        if container:
            run((tool, "rm", container), timeout_s=_QUERY_S)


def _output(argv: tuple[str, ...]) -> str:
    result = run(argv, timeout_s=_QUERY_S)
    return result.out if result.ok else ""


def conversion(cluster: Cluster, tool: str, folder: Path, tag: str) -> tuple[str, tuple[str, ...]]:
    """Return `container.image` of a job file, and the commands that put the image there for the cluster's runtime."""
    name = tag.rpartition("/")[2].partition(":")[0]
    path = f"{cluster.shared_folder or '/shared'}/images/{name}"
    target = shlex.quote(path)
    runtime = next((name for name in cluster.environments.containers if name != "podman"), "oci")
    quoted, archive = shlex.quote(tag), shlex.quote(f"{folder}/image.tar")
    if runtime == "apptainer":
        copy = f"{tool} push {quoted} oci-archive:{archive}"
        return f"{path}.sif", (copy, f"apptainer build {target}.sif oci-archive:{archive}")
    if runtime == "pyxis":
        copy = f"{tool} push {quoted} docker-archive:{archive}:{quoted}"
        load = f"podman load --input {archive}"
        return f"{path}.sqsh", (copy, load, f"enroot import --output {target}.sqsh podman://{quoted}")
    layout = shlex.quote(f"{folder}/oci")
    return path, (
        f"{tool} push {quoted} oci:{layout}:{name}",
        f"umoci unpack --rootless --image {layout}:{name} {target}",
        f"chmod -R a+rX {target}",
    )
