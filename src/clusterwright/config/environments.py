"""What programs of users stand on: containers, Python environments, modules, caches."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import AccountName, HostPath, Identifier, Image
from clusterwright.i18n import _

Runtime = Literal["oci", "apptainer", "pyxis", "podman"]

# PEP 508, without addresses and file names: what a package is called, its extras, its versions, its marker.
_REQUIREMENT = (
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?([<>=!~]=?=?[A-Za-z0-9.*+!<>=~,_-]+)?( ?; ?[^\n]+)?"
)


def _requirement(value: str) -> str:
    if not re.fullmatch(_REQUIREMENT, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not a package as pip takes it", value=value[:80]),
            _(
                "write it as numpy, numpy==2.1.3 or torch>=2.6; an address or a file goes into "
                "`requirements:`"
            ),
        )
    return value


Requirement = Annotated[str, AfterValidator(_requirement)]


class PythonEnvironment(Section):
    """A Python environment of a team, made on the control host by one of its members."""

    team: AccountName = setting("Whose it is: its members may change it.", example="vision")
    owner: AccountName | None = setting(
        "Member of the team who makes it; the first one of the file if left out.", default=None, example="bob"
    )
    path: HostPath = setting(
        "Where it is, beneath a shared folder; jobs name PATH/bin/python.", example="/shared/envs/vision"
    )
    kind: Literal["venv", "conda"] = setting(
        "venv: Python's own, filled by pip; conda: made by conda, mamba or micromamba.",
        default="venv", example="venv",
    )  # fmt: skip
    program: HostPath = setting(
        "Python that a venv stands on, or the conda program; the same on every host.",
        default="/usr/bin/python3", example="/shared/bin/micromamba",
    )  # fmt: skip
    packages: tuple[Requirement, ...] = setting(
        "Packages, as pip or conda takes them.", default=(), example="[numpy==2.1.3, transformers]"
    )
    requirements: HostPath | None = setting(
        "File of further packages on shared storage: requirements.txt, or for conda a list.",
        default=None, example="/shared/vision/requirements.txt",
    )  # fmt: skip
    wheels: HostPath | None = setting(
        "Folder of packages: nothing is then fetched from a network.", default=None, example="/shared/wheels"
    )


class Caches(Section):
    """Where programs keep what they have fetched or compiled; each user has a folder in it."""

    shared: HostPath | None = setting(
        "On shared storage: models and data sets of Hugging Face and torch, which are large and are only read.",
        default=None, example="/shared/caches",
    )  # fmt: skip
    local: HostPath | None = setting(
        "On each host's own disks: packages, and compiled kernels, whose many small files and locks are slow to share.",
        default=None, example="/scratch/caches",
    )  # fmt: skip


class Environments(Section):
    """Containers, Python environments, modules and caches."""

    containers: tuple[Runtime, ...] = setting(
        "Runtimes of containers; trainings take the first that can start their image. oci: Slurm's own, with crun.",
        cost=Cost.RECONFIGURE, default=(), example="[oci, apptainer]",
    )  # fmt: skip
    images: dict[Identifier, Image] = setting(
        "Images by name, for modules and for people.", default={}, example="{torch: /shared/images/torch}"
    )
    scratch: HostPath = setting(
        "Folder of each host's own disks for the layers and copies of images; each user has a folder in it.",
        default="/var/tmp", example="/scratch",  # noqa: S108 (kept over a reboot, open to all, as hier(7) says)
    )  # fmt: skip
    python: dict[Identifier, PythonEnvironment] = setting("Python environments by name.", default={})
    modules: Literal["none", "environment-modules", "lmod"] = setting(
        "What `module load` is; CUDA, environments and images then have a module each.",
        default="none", example="lmod",
    )  # fmt: skip
    caches: Caches = setting("Where programs keep what they have fetched.", default=Caches)
