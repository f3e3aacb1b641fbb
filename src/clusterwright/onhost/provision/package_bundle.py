"""The package bundle on a host: a signed repository in a folder, and settings of apt and dnf that use only that one.

Standard library only, Python 3.6 or later. `wright apply` copies the folder; the host's own sources stay as they are.
"""

import os
from typing import List

from clusterwright.onhost.lib.files import write_atomic
from clusterwright.onhost.provision.host import ChangeError, LocalHost, must

FOLDER = "/opt/clusterwright/bundle"
APT_SOURCES = """Types: deb
URIs: file:{folder}/repository
Suites: ./
Signed-By: {folder}/key.asc
"""
# Lists and caches of its own: those of the host's sources stay valid.
APT_SETTINGS = """Dir::Etc::sourcelist "{folder}/bundle.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "{folder}/lists";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""
# The index is signed and has the checksum of each package.
DNF_REPOSITORY = """[clusterwright-bundle]
name=clusterwright-bundle
baseurl=file://{folder}/repository
gpgcheck=0
repo_gpgcheck=1
gpgkey=file://{folder}/key.asc
metadata_expire=0
"""
NO_LOCAL_PLUGIN = "--disableplugin=local"  # it adds a repository of packages that were downloaded earlier


def is_used(host: LocalHost) -> bool:
    """Return True if the cluster file names a package bundle."""
    return bool(host.bundle.get("package_bundle"))


def use_by_apt(host: LocalHost) -> None:
    """Make every apt that this process starts use only the bundle, and read its list of packages.

    Raises:
        ChangeError: the bundle is not on this host, or is not signed by its key.
    """
    if not is_used(host):
        return
    require_folder(host)
    settings = host.resolve_path(FOLDER) + "/apt.conf"
    os.makedirs(host.resolve_path(FOLDER) + "/lists/partial", exist_ok=True)
    for name, text in (("bundle.sources", APT_SOURCES), ("apt.conf", APT_SETTINGS)):
        write_atomic(
            host.resolve_path(FOLDER) + "/" + name, text.format(folder=host.resolve_path(FOLDER)), mode=0o644
        )
    os.environ["APT_CONFIG"] = settings
    must(["apt-get", "update", "-o", "APT::Update::Error-Mode=any"])


def dnf_options(host: LocalHost) -> List[str]:
    """Return dnf's options for using only the bundle, after writing its repository file; none without a bundle."""
    if not is_used(host):
        return []
    require_folder(host)
    folder = host.resolve_path(FOLDER)
    os.makedirs(folder + "/repositories", exist_ok=True)
    write_atomic(folder + "/repositories/bundle.repo", DNF_REPOSITORY.format(folder=folder), mode=0o644)
    return ["--setopt=reposdir=" + folder + "/repositories", NO_LOCAL_PLUGIN]


def require_folder(host: LocalHost) -> None:
    """Raise ChangeError unless a complete bundle is on this host; its manifest is copied last."""
    if not os.path.exists(host.resolve_path(FOLDER) + "/manifest.json"):
        raise ChangeError("%s has no complete bundle; run the command again" % FOLDER, "host")
