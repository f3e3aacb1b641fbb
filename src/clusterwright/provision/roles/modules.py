"""`module load`: the program, and a module for CUDA, each Python environment and each image."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import packages
from clusterwright.provision.render.modulefiles import Module, lua, modules_of, tcl
from clusterwright.provision.resources import File, Given, Resource

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
    return (*packages(cluster, kind), File(path=PROFILE, content=use), *found)


def _files(module: Module, given: Given) -> tuple[File, File]:
    path = f"{FOLDER}/{module.name}"
    return (
        File(path=path, content=tcl(module, given.header())),
        File(path=f"{path}.lua", content=lua(module, given.header("--"))),
    )
