"""The software environments of jobs: containers, Python environments, modules, caches."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.names import AccountName, HostPath, Identifier, Image
from clusterwright.i18n import _

Runtime = Literal["oci", "apptainer", "pyxis", "podman"]

# PEP 508 without URLs and file names: package name, extras, versions, marker.
_REQUIREMENT = (
    r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[A-Za-z0-9._,-]+\])?([<>=!~]=?=?[A-Za-z0-9.*+!<>=~,_-]+)?( ?; ?[^\n]+)?"
)


def _requirement(value: str) -> str:
    if not re.fullmatch(_REQUIREMENT, value):
        raise refuse(
            "bad-name",
            _("`{value}` is not a pip requirement", value=value[:80]),
            _(
                "write the requirement as numpy, numpy==2.1.3 or torch>=2.6; put URLs and files into `requirements:`"
            ),
        )
    return value


Requirement = Annotated[str, AfterValidator(_requirement)]


class PythonEnvironment(Section):
    """A Python environment of a team; a member of the team builds it on the control host."""

    team: AccountName = setting("Team whose members may change the environment.", example="vision")
    owner: AccountName | None = setting(
        "Team member who builds the environment; default: the first member in the file.",
        default=None,
        example="bob",
    )
    path: HostPath = setting(
        "Path below a shared folder; jobs use PATH/bin/python.", example="/shared/envs/vision"
    )
    kind: Literal["venv", "conda"] = setting(
        "venv: built with pip; conda: built with conda, mamba or micromamba.",
        default="venv", example="venv",
    )  # fmt: skip
    program: HostPath = setting(
        "Base Python of a venv, or the conda program; the same path on every host.",
        default="/usr/bin/python3", example="/shared/bin/micromamba",
    )  # fmt: skip
    packages: tuple[Requirement, ...] = setting(
        "Packages of the environment, as pip or conda requirements.",
        default=(),
        example="[numpy==2.1.3, transformers]",
    )
    requirements: HostPath | None = setting(
        "File of additional packages on shared storage: requirements.txt, or a conda list.",
        default=None, example="/shared/vision/requirements.txt",
    )  # fmt: skip
    wheels: HostPath | None = setting(
        "Folder of packages from which the environment is installed without network access.",
        default=None,
        example="/shared/wheels",
    )


class Caches(Section):
    """Cache folders of downloads and compiled kernels, each with a subfolder for each user."""

    shared: HostPath | None = setting(
        "Cache on shared storage for models and data sets of Hugging Face and torch.",
        default=None, example="/shared/caches",
    )  # fmt: skip
    local: HostPath | None = setting(
        "Cache on local disks for packages and compiled kernels: small files and locks are slow on shared storage."
        " On a scratch disk itself, in /tmp and in /dev/shm, its subfolder `clusterwright-caches` is used.",
        default=None, example="/scratch/caches",
    )  # fmt: skip


class Environments(Section):
    """Containers, Python environments, modules and caches."""

    containers: tuple[Runtime, ...] = setting(
        "Container runtimes; a training uses the first that supports its image. oci: Slurm's OCI support with crun.",
        cost=Cost.RECONFIGURE, default=(), example="[oci, apptainer]",
    )  # fmt: skip
    images: dict[Identifier, Image] = setting(
        "Images by name; each can have a module.", default={}, example="{torch: /shared/images/torch}"
    )
    scratch: HostPath = setting(
        "Folder on local disks for image layers and copies, with a subfolder for each user.",
        default="/var/tmp", example="/scratch",  # nosec B108 # noqa: S108 (kept over a reboot, open to all, as hier(7) says)
    )  # fmt: skip
    python: dict[Identifier, PythonEnvironment] = setting("Python environments by name.", default={})
    modules: Literal["none", "environment-modules", "lmod"] = setting(
        "Implementation of `module load`; CUDA, environments and images get a module each.",
        default="none", example="lmod",
    )  # fmt: skip
    caches: Caches = setting("Cache folders of downloads and compiled kernels.", default=Caches)

    def runtime(self, image: str) -> Runtime | None:
        """Return the first of the container runtimes that can start the image; None if none can."""
        can = starters(image)
        return next((candidate for candidate in self.containers if candidate in can), None)


def starters(image: str) -> tuple[Runtime, ...]:
    """Return the runtimes that can start an image, the preferred one first.

    A folder is an OCI bundle, .sqsh is for pyxis (enroot), .sif for Apptainer; other URLs are for Apptainer or pyxis,
    names of a registry for pyxis.
    """
    if image.endswith(".sqsh"):
        return ("pyxis",)
    if image.endswith(".sif"):
        return ("apptainer",)
    if image.startswith("/"):
        return ("oci",)
    return ("pyxis",) if "#" in image or "://" not in image else ("apptainer", "pyxis")
