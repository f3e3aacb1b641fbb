"""Environment modules (`module load`): the program, and a module for CUDA, each Python environment and each image."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import packages
from clusterwright.provision.render.modulefiles import Module, lua, modules_of, tcl
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("base",)

FOLDER = "/opt/clusterwright/modulefiles"
PROFILE = "/etc/profile.d/zz-clusterwright-modules.sh"  # after the program's, which resets MODULEPATH


@alike
def modules(cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the module system, and each environment module in two forms, Tcl and Lua.

    Nothing without a module system.
    """
    kind = cluster.environments.modules
    if kind == "none":
        return ()
    header = context.header()
    files = [file for module in modules_of(cluster) for file in _files(module, context)]
    use = f'{header}export MODULEPATH="{FOLDER}${{MODULEPATH:+:$MODULEPATH}}"\n'
    return (*packages(cluster, kind), File(path=PROFILE, content=use), *files)


def _files(module: Module, context: RoleContext) -> tuple[File, File]:
    path = f"{FOLDER}/{module.name}"
    return (
        File(path=path, content=tcl(module, context.header())),
        File(path=f"{path}.lua", content=lua(module, context.header("--"))),
    )
