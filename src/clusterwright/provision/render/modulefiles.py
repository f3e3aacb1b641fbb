"""Modules of `module load`, as Tcl for Environment Modules and as Lua for Lmod."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Module:
    """An environment module: its description, prepended paths, variables, and what it conflicts with."""

    name: str
    description: str
    prepend_paths: tuple[tuple[str, str], ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    family: str = ""


def modules_of(cluster: Cluster) -> tuple[Module, ...]:
    """Return the modules: CUDA if the file names a release, each environment, each image."""
    modules = [_cuda(cluster.software.cuda)] if cluster.software.cuda else []
    modules += [
        _python(name, environment.path, environment.kind)
        for name, environment in cluster.environments.python.items()
    ]
    modules += [_image(name, image) for name, image in cluster.environments.images.items()]
    return tuple(modules)


def _cuda(release: str) -> Module:
    short = ".".join(release.split(".")[:2])
    home = f"/usr/local/cuda-{short}"
    prepend_paths = (
        ("PATH", f"{home}/bin"),
        ("LD_LIBRARY_PATH", f"{home}/lib64"),
        ("CPATH", f"{home}/include"),
    )
    return Module(f"cuda/{short}", f"CUDA {short}", prepend_paths, (("CUDA_HOME", home),), family="cuda")


def _python(name: str, path: str, kind: str) -> Module:
    variable = ("VIRTUAL_ENV", path) if kind == "venv" else ("CONDA_PREFIX", path)
    return Module(
        f"python/{name}", f"Python environment {path}", (("PATH", f"{path}/bin"),), (variable,), "python"
    )


def _image(name: str, image: str) -> Module:
    """Return an image's module; Slurm reads SRUN_CONTAINER and SBATCH_CONTAINER, other kinds only name the image."""
    bundle = image.startswith("/") and not image.endswith((".sqsh", ".sif"))
    slurms = (("SRUN_CONTAINER", image), ("SBATCH_CONTAINER", image)) if bundle else ()
    return Module(f"image/{name}", f"image {image}", (), (("CLUSTERWRIGHT_IMAGE", image), *slurms), "image")


def tcl(module: Module, header: str) -> str:
    """Return the module as Tcl; the first line identifies a module file."""
    lines = [f"module-whatis {_quoted(module.description)}", f"conflict {module.family}"]
    lines += [f"prepend-path {name} {_quoted(path)}" for name, path in module.prepend_paths]
    lines += [f"setenv {name} {_quoted(text)}" for name, text in module.variables]
    return "#%Module1.0\n" + header + "\n".join(lines) + "\n"


def lua(module: Module, header: str) -> str:
    """Return the module as Lua for Lmod, which replaces a loaded module of the same family."""
    lines = [f"whatis({json.dumps(module.description)})", f"family({json.dumps(module.family)})"]
    lines += [f"prepend_path({json.dumps(name)}, {json.dumps(path)})" for name, path in module.prepend_paths]
    lines += [f"setenv({json.dumps(name)}, {json.dumps(text)})" for name, text in module.variables]
    return header + "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return the text in braces, in which Tcl substitutes nothing; cluster files cannot contain braces."""
    return "{" + text + "}"
