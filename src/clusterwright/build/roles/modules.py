"""`module load`: the program, and a module for CUDA, each Python environment and each image."""

from __future__ import annotations

from clusterwright.build.alike import alike
from clusterwright.build.distribution import distribution
from clusterwright.build.render.modulefiles import Module, lua, modules_of, tcl
from clusterwright.build.resources import File, Given, Package, Resource
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base",)

FOLDER = "/opt/clusterwright/modulefiles"
PROFILE = "/etc/profile.d/zz-clusterwright-modules.sh"  # after the program's own, which begins the list anew


@alike
def modules(cluster: Cluster, _host: Host, given: Given) -> tuple[Resource, ...]:
    """Each module twice, as Tcl and as Lua: the one program reads this, the other rather that."""
    kind = cluster.environments.modules
    if kind == "none":
        return ()
    header = given.header()
    found = [file for module in modules_of(cluster) for file in _files(module, given)]
    use = f'{header}export MODULEPATH="{FOLDER}${{MODULEPATH:+:$MODULEPATH}}"\n'
    return (Package(name=distribution(cluster).package(kind)), File(path=PROFILE, content=use), *found)


def _files(module: Module, given: Given) -> tuple[File, File]:
    path = f"{FOLDER}/{module.name}"
    return (
        File(path=path, content=tcl(module, given.header())),
        File(path=f"{path}.lua", content=lua(module, given.header("--"))),
    )
