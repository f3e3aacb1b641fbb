"""The files of an image's folder: Containerfile, constraints.txt and the lock of what was chosen; pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict

from clusterwright.launch.image.choice import ImageChoice
from clusterwright.launch.image.requirements import package_name

# No other line: the file may come with a repository, and pip takes options and addresses in constraints.
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==[A-Za-z0-9.+!_-]+")
MARKER = "# Written by wright image build"
LOCK, REQUIREMENTS_LOCK = "image.lock.json", "requirements.lock"
_FOLDER = "/opt/clusterwright"
PINS_IN_IMAGE = f"{_FOLDER}/{REQUIREMENTS_LOCK}"
_ENVIRONMENT = "/opt/env"
_RHEL_MPI = "/usr/lib64/openmpi"


def image_files(choice: ImageChoice, cluster: str, requirements: str, pins: str) -> dict[str, str]:
    """Return the files of an image build by name, with a lock; `pins` are the versions of an earlier build."""
    files = {
        "Containerfile": "\n".join(_containerfile(choice, cluster, has_requirements=bool(requirements))),
        "constraints.txt": _constraints(choice, pins),
        "requirements.txt": requirements,
    }
    lock = {
        **{key: value for key, value in asdict(choice).items() if value and key != "notes"},
        "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()},
    }
    return {**files, LOCK: json.dumps(lock, indent=2) + "\n"}


def _constraints(choice: ImageChoice, pins: str) -> str:
    """Return the text of pip's constraints file: the chosen PyTorch, and the versions that the earlier build installed.

    `pins` are those versions; the lines of torch and NCCL are left out.
    """
    chosen = [f"torch=={choice.torch}"] if choice.torch else []
    names = {"torch", *(package_name(line.partition("==")[0]) for line in (choice.nccl_pin,) if line)}
    older = [
        line
        for line in pins.splitlines()
        if (pin := _PIN.fullmatch(line)) and package_name(pin["name"]) not in names
    ]
    return "".join(f"{line}\n" for line in (*chosen, *older))


def _containerfile(choice: ImageChoice, cluster: str, *, has_requirements: bool) -> Iterator[str]:
    yield f"{MARKER} for the cluster {cluster}; the next build replaces it."
    yield from _base(choice)
    yield from _system_packages(choice)
    yield from _torch(choice)
    if choice.framework_packages:
        names = " ".join(f'"{name}"' for name in choice.framework_packages)
        yield from ("", "# The framework of the job file.", f"RUN pip install --no-cache-dir {names}")
    if has_requirements:
        yield ""
        yield "# The requirements of the job; what they need of PyTorch is the one above (constraints.txt)."
        yield f"COPY requirements.txt {_FOLDER}/requirements.txt"
        yield f"RUN pip install --no-cache-dir -r {_FOLDER}/requirements.txt"
    yield from _end(choice)


def _base(choice: ImageChoice) -> Iterator[str]:
    yield ""
    if choice.torch:
        yield f"# CUDA {choice.cuda}, which PyTorch {choice.torch} is built with; its compiler is for extensions."
    else:
        yield "# The image of --base, with its own PyTorch and CUDA."
    yield f"FROM {choice.base}"


def _system_packages(choice: ImageChoice) -> Iterator[str]:
    if choice.rdma_packages:
        yield ""
        yield f"# RDMA in user space, of {choice.system}: without the library of the adapter NCCL uses TCP."
        yield _install(choice, choice.rdma_packages)
    if choice.mpi_packages:
        yield ""
        yield "# Open MPI, UCX and PMIx, for mpirun and for tasks that Slurm starts; Slurm is that of the hosts."
        yield _install(choice, choice.mpi_packages)
        if choice.package_manager == "dnf":
            yield f"ENV PATH={_RHEL_MPI}/bin:$PATH LD_LIBRARY_PATH={_RHEL_MPI}/lib:$LD_LIBRARY_PATH"


def _torch(choice: ImageChoice) -> Iterator[str]:
    if choice.torch:
        yield ""
        yield f"# Python {choice.python} of the distribution, in an environment that its packages cannot change."
        yield _install(choice, _python_packages(choice))
        yield f"RUN python{choice.python} -m venv {_ENVIRONMENT}"
        yield f"ENV PATH={_ENVIRONMENT}/bin:$PATH"
    yield ""
    yield "# Every later pip keeps PyTorch and the versions of an earlier build: a conflict ends the build."
    yield f"COPY constraints.txt {_FOLDER}/constraints.txt"
    if choice.torch:
        yield f"ENV PIP_CONSTRAINT={_FOLDER}/constraints.txt"
        yield ""
        yield f"# With cuDNN {choice.cudnn} and NCCL, which the wheel requires in exactly these versions."
        yield f"RUN pip install --no-cache-dir --index-url {choice.index} torch=={choice.torch}"
    else:
        yield f'ENV PIP_CONSTRAINT="/etc/pip/constraint.txt {_FOLDER}/constraints.txt"'
    if choice.nccl_pin:
        yield ""
        yield "# NCCL of `software.nccl`, newer than the wheel's; NCCL's interface only grows."
        yield f'RUN pip install --no-cache-dir --no-deps "{choice.nccl_pin}"'


def _end(choice: ImageChoice) -> Iterator[str]:
    check = "import torch; print(torch.__version__, torch.version.cuda)"
    if choice.torch:
        check += f"; assert torch.version.cuda == '{choice.cuda}'"
    yield ""
    yield "# The build fails here, not the training, if something replaced PyTorch."
    yield f'RUN python3 -I -c "{check}"'
    yield ""
    yield "# Folders that the hosts mount into containers, and the versions of all packages, for the next build."
    yield f"RUN mkdir -p {' '.join((*choice.mounts, f'{_FOLDER}/host'))} \\"
    yield f" && pip freeze > {PINS_IN_IMAGE}"
    yield ""


def _python_packages(choice: ImageChoice) -> tuple[str, ...]:
    if choice.python == "3":
        return ("python3", "python3-venv", "python3-dev") if choice.package_manager == "apt" else ("python3",)
    if (
        choice.package_manager == "apt"
    ):  # its release has one Python 3, with its number in the names of packages too
        return tuple(f"python{choice.python}{part}" for part in ("", "-venv", "-dev"))
    return tuple(f"python{choice.python}{part}" for part in ("", "-pip", "-devel"))


def _install(choice: ImageChoice, packages: tuple[str, ...]) -> str:
    names = " ".join(packages)
    if choice.package_manager == "apt":
        return (
            "RUN apt-get update \\\n"
            f" && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {names} \\\n"
            " && rm -rf /var/lib/apt/lists/*"
        )
    return f"RUN dnf install -y --setopt=install_weak_deps=False {names} && dnf clean all"
