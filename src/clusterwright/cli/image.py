"""`wright image build`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App, Parameter

from clusterwright.cli._quantities import ImageTag
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.config.job import Job
    from clusterwright.errors import WrightError
    from clusterwright.launch.image.choice import ImageChoice

image = App(
    name="image",
    help="Write and build container images of trainings.",
    help_format="plaintext",
    default_parameter=Parameter(negative=()),
)


@image.command
def build(
    *,
    out: Path,
    cluster: Path | None = None,
    job: Path | None = None,
    requirements: Path | None = None,
    tag: ImageTag = "",
    base: str = "",
    files_only: bool = False,
) -> int:
    """Write a Containerfile for the versions of the cluster file, and build it with buildah or podman.

    The folder also has constraints.txt, which keeps PyTorch from being replaced, image.lock.json with what was chosen,
    and after a build requirements.lock, whose versions the next build uses again.

    Parameters
    ----------
    out
        Folder to write; a folder of an earlier build is continued.
    cluster
        Cluster file; default: $CLUSTERWRIGHT_CLUSTER, else ./cluster.yaml.
    job
        Job file whose framework and launcher the image serves; default: any launcher, PyTorch only.
    requirements
        Python packages; default: requirements.txt beside the job file, if there.
    tag
        Tag of the image; default: the name of the job, else of the cluster, in localhost.
    base
        Base image in place of the chosen one. One with `pytorch` in its name, as NGC's, has its own PyTorch.
    files_only
        Write the files only.
    """
    from clusterwright.cli._connection import cluster_file
    from clusterwright.config.load import load_cluster, load_job
    from clusterwright.launch.image import build as builder
    from clusterwright.launch.image.choice import choose_image

    spec = load_cluster(cluster_file(cluster, job))
    job_spec = load_job(job) if job else None
    text = _requirements(job, requirements)
    _write_files(out, choose_image(spec, job_spec, text, base), spec.name, text)
    name = tag or _tag(spec.name, job_spec)
    tool = _build_image(out, name, files_only=files_only)
    _show_use(builder.conversion(spec, tool, out, name))
    return 0


def _write_files(out: Path, choice: ImageChoice, cluster: str, requirements: str) -> None:
    """Write the folder of an image, with the versions of an earlier build; print what was chosen."""
    from clusterwright.cli._show import show_message, show_note
    from clusterwright.launch.image import build as builder
    from clusterwright.launch.image.containerfile import REQUIREMENTS_LOCK, image_files
    from clusterwright.onhost.lib.safe_reader import text_or_empty

    builder.require_no_link(out)
    pins = text_or_empty(str(out / REQUIREMENTS_LOCK))
    builder.write_folder(out, image_files(choice, cluster, requirements, pins))
    show_message(_summary(choice, out))
    for note in (*choice.notes, *_unpinned(requirements, has_lock=bool(pins))):
        show_note(note)


def _build_image(out: Path, name: str, *, files_only: bool) -> str:
    """Build the image, or print the command; return the tool.

    Printed with `files_only`, and if no tool is installed.

    Raises:
        WrightError: the build failed.
    """
    from clusterwright.cli._show import show_note, show_verbatim
    from clusterwright.launch.image import build as builder

    tool = builder.find_tool()
    if tool and not files_only:
        if builder.build(tool, out, name) is None:
            raise _failure(out / builder.BUILD_LOG, tool)
        return tool
    if not files_only:
        show_note(_("neither buildah nor podman is installed here; on a machine that has one, run:"))
    show_verbatim(shlex.join(builder.build_command(tool or builder.TOOLS[0], out, name)))
    return tool or builder.TOOLS[0]


def _tag(cluster: str, job: Job | None) -> str:
    from clusterwright.launch.image.tag import nearest_name

    return f"localhost/{nearest_name(job.name if job else cluster)}:latest"


def _requirements(job: Path | None, named: Path | None) -> str:
    from clusterwright.config.load import text_of

    file = named or (job.parent / "requirements.txt" if job else None)
    if file and job and not named and not file.resolve().is_relative_to(job.parent.resolve()):
        raise _linked(file)
    return text_of(file) if file and (named or file.is_file()) else ""


def _linked(file: Path) -> WrightError:
    """Return the error of a requirements.txt found beside the job file that links to another folder.

    That file may be a private one.
    """
    from clusterwright.errors import EXIT_USAGE, WrightError

    message = _(
        "{file} is a link to {target}, in another folder than the job file", file=file, target=file.resolve()
    )
    fix = _("name the file if it may be in the image: --requirements {file}", file=shlex.quote(str(file)))
    return WrightError.from_code("code-link-outside", message, fix, exit_code=EXIT_USAGE)


def _unpinned(text: str, *, has_lock: bool) -> list[str]:
    from clusterwright.launch.image.requirements import parse_requirements

    names = ", ".join(item.name for item in parse_requirements(text) if not item.pinned)
    if not names or has_lock:
        return []
    return [_("without a version: {names}; requirements.lock has those of this build", names=names)]


def _summary(choice: ImageChoice, out: Path) -> str:
    if not choice.torch:
        return _("{file}: {base}", file=out / "Containerfile", base=choice.base)
    return _(
        "{file}: {base}, Python {python}, PyTorch {torch}, CUDA {cuda}, NCCL {nccl}",
        file=out / "Containerfile",
        base=choice.base,
        python=choice.python,
        torch=choice.torch,
        cuda=choice.cuda,
        nccl=choice.nccl,
    )


def _failure(log: Path, tool: str) -> WrightError:
    """Return the error of a failed build: the cause that `wright why` finds in its log, else its last two lines."""
    from clusterwright.diagnose.subjects import log as diagnose
    from clusterwright.errors import WrightError

    diagnosis = next(iter(diagnose(log)), None)
    if diagnosis is None or diagnosis.kind == "unknown":
        last = " ".join(log.read_text(encoding="utf-8").splitlines()[-2:])
        return WrightError.from_code(
            "image-build-failed",
            _("{tool} did not build the image: {output}", tool=tool, output=last),
            _("read {log}; after the fix, run the same command again", log=log),
        )
    return WrightError.from_code(
        "image-build-failed",
        _("{tool} did not build the image: {output}", tool=tool, output=diagnosis.cause),
        _("{fix} The output is in {log}.", fix=diagnosis.fix, log=log),
    )


def _show_use(conversion: tuple[str, tuple[str, ...]]) -> None:
    from clusterwright.cli._show import show_message, show_verbatim

    path, commands = conversion
    show_message(_("Then put the image on shared storage, where the hosts run it without a registry:"))
    show_verbatim("\n".join(commands))
    show_message(_("In the job file:"))
    show_verbatim(f"container: {{image: {path}}}")
