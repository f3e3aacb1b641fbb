"""Containers, Python environments, modules and caches: what hosts must have, on each kind of distribution."""

import json
import os
import subprocess
import sys

import pytest

from clusterwright.config.slurm_keys.lint import lint
from clusterwright.provision.render.oci_conf import oci_conf
from clusterwright.provision.resources import File, Package, Unit
from clusterwright.provision.roles import desired_resources

FAMILIES = ["debian-12", "ubuntu-24.04", "rocky-9"]
REPOSITORY = {
    "software.repositories": {"site": {"url": "https://packages.example.org/site", "unsigned": True}}
}


@pytest.fixture
def found(altered, given):
    """Resources of a host by id, with these environments, on that system."""

    def make(host, environments, os="debian-12"):
        slurm = {"debian-12": "22.05", "ubuntu-24.04": "23.11", "rocky-9": "22.05"}[os]
        said = {"environments": environments, "os": os, "software.slurm": slurm, "lab": None}
        cluster = altered({**REPOSITORY, **said})
        return {resource.id: resource for resource in desired_resources(cluster, cluster.host(host), given)}

    return make


def packages(resources):
    """Names."""
    return {one.name for one in resources.values() if isinstance(one, Package)}


def test_a_file_without_the_section_has_nothing_of_it(cluster, given):
    """No byte of an older file changes."""
    ids = {one.id for host in cluster.hosts() for one in desired_resources(cluster, host, given)}

    assert not [
        one for one in ids if any(word in one for word in ("crun", "container", "module-", "oci", "caches"))
    ]


@pytest.mark.parametrize("os", FAMILIES)
def test_slurms_own_containers(found, os):
    """The runtime where jobs run; what Slurm reads on the control host too, and commands alone need none."""
    compute, control = (found(host, {"containers": ["oci"]}, os) for host in ("gpu-node1", "control"))
    conf = compute["file:/etc/slurm/oci.conf"]

    assert "crun" in packages(compute)
    assert "crun" not in packages(control)
    assert conf == control["file:/etc/slurm/oci.conf"]
    assert (
        'RunTimeRun="exec env PYTHONPATH=/opt/clusterwright/lib python3 '
        '/opt/clusterwright/lib/clusterwright/onhost/containers/in_image.py %b %u.%j.%s.%t %n"\n'
        in conf.content
    )
    shown = json.loads(compute["file:/etc/clusterwright/containers.json"].content)
    assert shown == [
        {"path": "/home", "mode": "rw"}, {"path": "/shared", "mode": "rw"}, {"path": "/opt/clusterwright", "mode": "ro"}
    ]  # fmt: skip
    assert compute["directory:/run/clusterwright-oci"].mode == 0o1777


@pytest.mark.parametrize("of", ["21.08", "22.05", "23.11", "26.05"])
def test_every_release_takes_our_file(cluster, of):
    """No key that came later, none that went."""
    text = oci_conf(cluster, "# head\n")

    assert lint(text, "oci.conf", of) == ()
    assert text.count("RunTime") == 4


@pytest.mark.parametrize("os", FAMILIES)
def test_podman_without_root(found, os):
    """Ids follow from the user's own, so they are the same everywhere and for good; none is another's."""
    host = found("gpu-node1", {"containers": ["podman"], "scratch": "/scratch"}, os)
    ids = [line.split(":") for line in host["file:/etc/subuid"].content.splitlines()]

    assert {"podman", "fuse-overlayfs", "shadow-utils" if os == "rocky-9" else "uidmap"} <= packages(host)
    assert [name for name, _first, _count in ids] == ["alice", "bob"]
    assert int(ids[0][1]) + int(ids[0][2]) <= int(ids[1][1])
    assert host["file:/etc/subgid"].content == host["file:/etc/subuid"].content
    assert (
        'rootless_storage_path = "/scratch/$USER/containers"\n'
        in host["file:/etc/containers/storage.conf"].content
    )
    assert host["unit:clusterwright-cdi.service"].independent
    assert "podman" not in packages(found("control", {"containers": ["podman"]}, os))


def test_the_largest_user_id_has_ids_too(altered, given):
    """All below 2^32."""
    cluster = altered({"environments": {"containers": ["podman"]}, "users.bob.uid": 59999, "lab": None})
    text = {one.id: one for one in desired_resources(cluster, cluster.host("gpu-node1"), given)}[
        "file:/etc/subuid"
    ].content
    first, count = (int(word) for word in text.splitlines()[-1].split(":")[1:])

    assert first + count < 2**32


@pytest.mark.parametrize("os", FAMILIES)
def test_apptainer_shows_what_hosts_share(found, os):
    """EPEL has it for Rocky, where nothing else of ours may come from there."""
    host = found("gpu-node1", {"containers": ["apptainer"]}, os)
    text = host["file:/etc/apptainer/apptainer.conf"].content

    assert "apptainer" in packages(host)
    assert ("epel-release" in packages(host)) == (os == "rocky-9")
    assert {"bind path = /shared", "allow setuid = no", "always use nv = yes"} <= set(text.splitlines())


@pytest.mark.parametrize(
    ("os", "plugin"),
    [
        ("debian-12", "/usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so"),
        ("ubuntu-24.04", "/usr/lib/x86_64-linux-gnu/slurm/spank_pyxis.so"),
        ("rocky-9", "/usr/lib64/slurm/spank_pyxis.so"),
    ],
)
def test_enroot_and_pyxis(found, os, plugin):
    """The plugin is wherever jobs are submitted; of another release it is left out, and other jobs go on."""
    compute, control = (
        found(host, {"containers": ["pyxis"], "scratch": "/scratch"}, os) for host in ("gpu-node1", "control")
    )
    load = compute["file:/etc/slurm/plugstack.conf.d/pyxis.conf"].content

    assert {"enroot", "enroot+caps", "nvslurm-plugin-pyxis"} <= packages(compute)
    assert packages(control) & {"enroot", "enroot+caps", "nvslurm-plugin-pyxis"} == {"nvslurm-plugin-pyxis"}
    assert f"\noptional {plugin} " in load
    assert load == control["file:/etc/slurm/plugstack.conf.d/pyxis.conf"].content
    assert (
        "ENROOT_DATA_PATH /scratch/enroot-$(id -u)/data\n" in compute["file:/etc/enroot/enroot.conf"].content
    )


def test_where_hosts_fetch_their_files_the_plugin_stands_in_the_one_that_is_fetched(altered, given):
    """Slurm sends no file with a path in its name."""
    cluster = altered({
        **REPOSITORY, "environments": {"containers": ["pyxis"]}, "slurm.configless": True, "lab": None
    })  # fmt: skip
    host = {one.id: one for one in desired_resources(cluster, cluster.host("control"), given)}

    assert "\noptional /usr/lib" in host["file:/etc/slurm/plugstack.conf"].content
    assert "file:/etc/slurm/plugstack.conf.d/pyxis.conf" not in host


PYTHON = {
    "seeing": {"team": "vision", "path": "/shared/envs/seeing", "packages": ["numpy==2.1.3"]},
    "speaking": {
        "team": "language",
        "path": "/shared/envs/speaking",
        "kind": "conda",
        "program": "/shared/bin/conda",
    },
}


def test_a_member_of_the_team_makes_its_environment_and_one_that_fails_stops_nothing(found):
    """On the control host alone; a unit each, which stands alone."""
    control, compute = (found(host, {"python": PYTHON}) for host in ("control", "gpu-node1"))
    unit = control["file:/etc/systemd/system/clusterwright-python-seeing.service"].content

    assert {"User=bob", "Group=vision", "UMask=0002"} <= set(unit.splitlines())
    assert control["unit:clusterwright-python-seeing.service"].independent
    assert (
        json.loads(control["file:/opt/clusterwright/environments/speaking.json"].content)["kind"] == "conda"
    )
    assert "python3-venv" in packages(control)
    assert not [one for one in compute if "environments" in one or "clusterwright-python" in one]


@pytest.mark.parametrize(
    ("os", "kind", "package"),
    [
        ("debian-12", "lmod", "lmod"),
        ("rocky-9", "lmod", "Lmod"),
        ("ubuntu-24.04", "environment-modules", "environment-modules"),
    ],
)
def test_a_module_for_each_environment_and_image_in_both_tongues(found, os, kind, package):
    """Tcl, and its twin in Lua."""
    host = found(
        "gpu-node1", {"modules": kind, "python": PYTHON, "images": {"torch": "/shared/images/torch"}}, os
    )
    folder = "file:/opt/clusterwright/modulefiles"

    assert package in packages(host)
    assert host[f"{folder}/image/torch"].content.startswith("#%Module1.0\n")
    assert 'setenv("SRUN_CONTAINER", "/shared/images/torch")' in host[f"{folder}/image/torch.lua"].content
    assert "prepend-path PATH {/shared/envs/seeing/bin}\n" in host[f"{folder}/python/seeing"].content
    assert 'prepend_path("PATH", "/shared/envs/seeing/bin")' in host[f"{folder}/python/seeing.lua"].content


def test_caches_are_where_the_file_says_and_a_user_may_say_otherwise(found):
    """Models are shared; compiled kernels and packages are each host's own."""
    host = found("gpu-node1", {"caches": {"shared": "/shared/caches", "local": "/scratch/caches"}})
    text = host["file:/etc/profile.d/clusterwright-caches.sh"].content

    assert '    export HF_HOME="${HF_HOME:-/shared/caches/$USER/huggingface}"\n' in text
    assert '    export TRITON_CACHE_DIR="${TRITON_CACHE_DIR:-/scratch/caches/$USER/triton}"\n' in text
    assert "directory:/shared/caches" not in host


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own folders as another user")
def test_only_root_creates_cache_folders_where_jobs_run(found):
    """There the prolog does, before each job; elsewhere users do, also where there is no prolog."""
    caches = {"caches": {"local": "/scratch/caches"}}

    assert found("gpu-node1", caches)["directory:/scratch/caches"].mode == 0o755
    assert found("control", caches)["directory:/scratch/caches"].mode == 0o1777


@pytest.mark.parametrize("folder", ["/var/tmp", "/dev/shm", "/scratch"])
def test_caches_in_a_folder_with_other_uses_are_in_a_subfolder_of_roots(folder, found):
    """Where all users may create folders, one of them could be faster than the prolog."""
    host = found("gpu-node1", {"scratch": "/scratch", "caches": {"local": folder}})
    text = host["file:/etc/profile.d/clusterwright-caches.sh"].content

    assert host[f"directory:{folder}/clusterwright-caches"].mode == 0o755
    assert f"directory:{folder}" not in host
    assert f"TRITON_CACHE_DIR:-{folder}/clusterwright-caches/$USER/triton" in text


@pytest.mark.parametrize(("name", "mode"), [("gpu-node1", "755"), ("control", "1777")])
def test_a_boot_leaves_no_user_time_to_create_the_folder_above(found, name, mode):
    """/tmp, /dev/shm and /run with its links are empty then; what lies elsewhere is still there."""
    path = "/etc/tmpfiles.d/clusterwright-caches.conf"
    text = found(name, {"caches": {"local": "/dev/shm"}})[f"file:{path}"].content

    assert text.endswith(f"\nd /dev/shm/clusterwright-caches {mode} root root\n")
    for folder in ("/run/caches", "/var/run/caches", "/var/lock/caches"):
        assert f"file:{path}" in found(name, {"caches": {"local": folder}}), folder
    assert f"file:{path}" not in found(name, {"caches": {"local": "/scratch/caches"}})


@pytest.fixture
def login(found, tmp_path):
    """`login(shell)`: the cache folders of a user who logs in, and what is said about them."""
    for name in ("shared", "local"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o1777)
    host = found("gpu-node1", {"caches": {"shared": "/shared/caches", "local": "/scratch/caches"}})
    text = host["file:/etc/profile.d/clusterwright-caches.sh"].content + 'echo "$HF_HOME|$TRITON_CACHE_DIR"'
    here = text.replace("/shared/caches", f"{tmp_path}/shared").replace(
        "/scratch/caches", f"{tmp_path}/local"
    )
    (tmp_path / "profile").write_text(f"set -e\n{here}")
    env = {"PATH": os.environ["PATH"], "USER": "root", "LC_ALL": "zh_CN.UTF-8"}

    def run(shell):
        done = subprocess.run(
            [shell, tmp_path / "profile"], capture_output=True, text=True, env=env, check=True
        )
        return done.stdout, done.stderr

    return run


def foreign(path):
    """Another user's."""
    path.mkdir()
    os.chown(path, 65534, 65534)


def link(path):
    """To a folder of one's own."""
    path.symlink_to(path.parent.parent / "local")


def of_the_team(path):
    """One's own, in which others may write; a member of the team has moved it here."""
    path.mkdir()
    path.chmod(0o2770)


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("make", [foreign, link, of_the_team])
def test_a_cache_folder_that_another_user_made_first_is_not_used(login, shell, make, tmp_path):
    """Others could exchange compiled code; a folder of one's own is private, and used again."""
    make(tmp_path / "shared" / "root")

    for _ in range(2):
        out, err = login(shell)
        assert out == f"|{tmp_path}/local/root/triton\n"
        assert err.count("is not a private folder of yours") == 1
    assert (tmp_path / "local" / "root").stat().st_mode & 0o777 == 0o700

    (tmp_path / "local" / "root").chmod(0o755)
    assert login(shell)[0] == f"|{tmp_path}/local/root/triton\n"


def of_a_stranger(path):
    """Created before root's, after a boot; its owner could move the folders in it."""
    os.chown(path, 1002, 1002)


def of_a_stranger_closed(path):
    """Nobody else may write there, but its owner may."""
    os.chown(path, 1002, 1002)
    path.chmod(0o755)


def open_to_all(path):
    """Root's, but without the sticky bit: everybody could move the folders in it."""
    path.chmod(0o2777)


def linked(path):
    """To a folder of root's."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to own folders as another user")
@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("change", [of_a_stranger, of_a_stranger_closed, open_to_all, linked])
def test_no_cache_folder_is_used_in_a_folder_where_others_could_move_it(login, shell, change, tmp_path):
    """They could put another folder with compiled code in its place; nothing is created there."""
    change(tmp_path / "local")

    out, err = login(shell)

    assert out == f"{tmp_path}/shared/root/huggingface|\n"
    assert "local is not a folder in which only root can move others' folders" in err
    assert not (tmp_path / "local" / "root").exists()


def test_a_shared_cache_folder_of_a_file_server_that_does_not_know_root_is_used(login, tmp_path):
    """What root creates there belongs to nobody."""
    os.chown(tmp_path / "shared", 65534, 65534)
    os.chown(tmp_path / "local", 65534, 65534)

    assert login("dash")[0] == f"{tmp_path}/shared/root/huggingface|\n"


EXCHANGE = """
import ctypes, sys
exchange = ctypes.CDLL(None).renameat2
one, other = (path.encode() for path in sys.argv[1:])
while True:
    exchange(-100, one, -100, other, 2)
"""


def test_a_link_that_is_exchanged_all_the_time_is_no_cache_folder(login, tmp_path):
    """With a folder of its owner's: each look at the path alone may see the one that it expects."""
    own = tmp_path / "shared" / "root"
    foreign(tmp_path / "shared" / "other")
    own.symlink_to(tmp_path / "local")
    exchange = subprocess.Popen([sys.executable, "-c", EXCHANGE, own, tmp_path / "shared" / "other"])
    try:
        assert {login("dash")[0] for _ in range(60)} == {f"|{tmp_path}/local/root/triton\n"}
    finally:
        exchange.kill()
        exchange.wait()


def test_every_file_is_live(found):
    """What users stand on changes without a daemon's notice."""
    everything = {
        "containers": ["oci", "podman", "apptainer", "pyxis"], "python": PYTHON, "modules": "lmod",
        "caches": {"local": "/scratch/c"},
    }  # fmt: skip
    plain, rich = (found("gpu-node1", one) for one in ({}, everything))
    new = [one for name, one in rich.items() if name not in plain and isinstance(one, File | Unit)]

    assert len(new) > 15
    assert {str(one.cost) for one in new if isinstance(one, File)} == {"live"}
