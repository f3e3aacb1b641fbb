"""The packages of `make dist`: what they contain, the units that `wright apply` renders, the same bytes twice."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright.config.load import load_cluster
from clusterwright.provision.packaged_units import packaged_units
from clusterwright.provision.resources import RoleContext
from clusterwright.provision.roles.exporter import SETTINGS, exporter
from clusterwright.provision.roles.heal import heal
from clusterwright.provision.roles.notify import notify
from clusterwright.provision.roles.training import LIBRARY

ROOT = Path(__file__).parents[2]
TOOLS = ROOT / "tools" / "packages"
COMMIT_TIME = 1_700_000_000  # 2023-11-14 22:13:20 UTC
VERSION = "0.2.0.dev7+gabcdef012"
FULL = "0.2.0~dev7+gabcdef012-1"
UNITS = ["clusterwright-exporter.service", "clusterwright-heal.service", "clusterwright-notify.service"]
SITE = "/usr/lib/clusterwright/lib/python3.11/site-packages"
SERVICES = "\nheal: {watch: true, program: /usr/bin/wright}\nmonitoring: {prometheus: true}\n"

pytestmark = pytest.mark.timeout(600)


def output(*command, **options):
    """What a program prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300, **options)
    return done.stdout


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """Two clones of the last commit, without history and tags, and a wheel of each, built under other umasks."""
    folder = tmp_path_factory.mktemp("clones")
    for name, umask in (("one", 0o022), ("other", 0o077)):
        output(
            "git", "clone", "-q", "--depth", "1", "--no-tags", f"file://{ROOT}", folder / name, umask=umask
        )
        seconds = output("git", "log", "-1", "--format=%ct", cwd=folder / name).strip()
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
            "SOURCE_DATE_EPOCH": seconds
        }
        build = (sys.executable, "-m", "hatchling", "build", "-d", folder / name / "dist")
        output(*build, cwd=folder / name, env=env, umask=umask)
    return folder / "one", folder / "other"


@pytest.fixture(scope="module")
def tools():
    """The modules of tools/packages."""
    sys.path.insert(0, str(TOOLS))
    try:
        import deb
        import rpm
        import site_packages
        import tree
    finally:
        sys.path.remove(str(TOOLS))
    return SimpleNamespace(deb=deb, rpm=rpm, tree=tree, site_packages=site_packages)


@pytest.fixture(scope="module")
def packages(tools, tmp_path_factory):
    """The .deb and the .rpm with only two of the modules, which compresses in no time; each built twice."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(
        ROOT / "src", folder / "modules", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    tools.tree.build_tree(folder / "modules", folder / "tree")
    modules = folder / "tree" / tools.tree.SITE / "clusterwright"
    for path in modules.iterdir():
        if path.name not in ("__init__.py", "py.typed"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    built = {}
    for kind, program in (("deb", "dpkg-deb"), ("rpm", "rpmbuild")):
        for number in range(2) if shutil.which(program) else ():
            shutil.copytree(folder / "tree", folder / f"{kind}{number}", symlinks=True)
            out = folder / f"out{number}"
            out.mkdir(exist_ok=True)
            build = getattr(getattr(tools, kind), f"build_{kind}")
            built[kind, number] = build(folder / f"{kind}{number}", VERSION, COMMIT_TIME, out)
            time.sleep(1)  # times in a package are in seconds
    return built


@pytest.fixture
def package(packages):
    """Return a function from a kind and a number to the file; it skips the test without the program that builds it."""

    def find(kind, number=0):
        if (kind, number) not in packages:
            pytest.skip(f"the program that builds a .{kind} is not installed")
        return packages[kind, number]

    return find


@pytest.fixture
def rendered(tmp_path):
    """The units of the control host, as `wright apply` writes them for real hosts."""
    text = (ROOT / "examples" / "lab" / "cluster.yaml").read_text().partition("\nlab:")[0] + SERVICES
    (tmp_path / "cluster.yaml").write_text(text)
    cluster = load_cluster(tmp_path / "cluster.yaml")
    roles = (role(cluster, cluster.control, RoleContext()) for role in (exporter, heal, notify))
    files = [resource for resources in roles for resource in resources if hasattr(resource, "content")]
    return {Path(file.path).name: file.content for file in files if file.path.endswith(".service")}


def test_two_clones_build_the_same_wheel_and_source_archive(clones):
    """In other folders, with other permissions; a fresh clone without tags is enough."""
    one, other = (sorted((clone / "dist").iterdir()) for clone in clones)

    assert [path.name for path in one] == [path.name for path in other]
    assert {path.suffix for path in one} == {".whl", ".gz", ".json"}
    assert [
        path.name for path, same in zip(one, other, strict=True) if path.read_bytes() != same.read_bytes()
    ] == []
    assert re.match(r"clusterwright-\d+\.\d+\.\d+\.dev1\+g[0-9a-f]{9}", one[0].name)


@pytest.mark.parametrize("kind", ["deb", "rpm"])
def test_a_package_built_twice_has_the_same_bytes(package, kind):
    """From one wheel, in another folder and at another time."""
    assert package(kind, 0).read_bytes() == package(kind, 1).read_bytes()


def test_the_units_are_those_of_an_apply(rendered):
    """They differ in the paths of the package, and wait for their settings."""
    units = packaged_units("/usr/bin/wright", SITE)

    assert sorted(units) == sorted(rendered) == UNITS
    for name, text in units.items():
        condition = re.search(r"\nConditionPathExists=/etc/clusterwright/\S+", text)[0]
        applied = rendered[name].partition("\n")[2].replace(LIBRARY, SITE)
        expected = applied.replace("/opt/clusterwright/env/bin/python;", "/usr/bin/python3;")
        assert text.replace(condition, "", 1) == expected


def test_the_deb_has_wright_and_the_units(package):
    """Files of root, none that only its owner may read, all with the time of the commit."""
    lines = output("dpkg-deb", "-c", package("deb"), env=os.environ | {"TZ": "UTC"}).splitlines()
    names = {line.split()[5].removeprefix(".") for line in lines}
    control = output("dpkg-deb", "-f", package("deb"))

    assert {"/usr/share/man/man1/wright.1.gz", "/usr/share/man/man1/wright-apply.1.gz"} < names
    assert package("deb").name.startswith(f"clusterwright_{FULL}_")
    assert {f"/usr/lib/systemd/system/{unit}" for unit in UNITS} < names
    assert {"/usr/bin/wright", "/usr/lib/clusterwright/bin/wright", f"{SITE}/clusterwright/py.typed"} < names
    assert {
        "/usr/share/bash-completion/completions/wright",
        "/usr/share/doc/clusterwright/changelog.gz",
    } < names
    assert {tuple(line.split()[1:5:2]) for line in lines} == {("root/root", "2023-11-14")}
    assert {line[:10] for line in lines} == {"-rw-r--r--", "-rwxr-xr-x", "drwxr-xr-x", "lrwxrwxrwx"}
    assert [name for name in names if name.startswith("/etc") or "__pycache__" in name] == []
    assert f"Version: {FULL}" in control
    assert "python3 (>= 3.11)" in control


def test_the_rpm_has_the_same_files(package):
    """Besides those that only one of them knows; the interpreter is chosen on the host."""
    lines = output("dpkg-deb", "-c", package("deb")).splitlines()
    debian = {line.split()[5].removeprefix(".").rstrip("/") for line in lines if line[0] != "d"}
    rpm = ("rpm", "-qp", package("rpm"))
    rows = [
        line.split("\t")
        for line in output(*rpm, "--qf", "[%{FILENAMES}\t%{FILEMODES:perms}\t%{FILEMTIMES}\n]").splitlines()
    ]
    files = {name for name, mode, _ in rows if mode[0] != "d"}

    assert {name for name in debian ^ files if "zsh" not in name} == {
        *("/usr/share/doc/clusterwright/changelog.Debian.gz", "/usr/share/doc/clusterwright/copyright"),
        *("/usr/share/lintian/overrides/clusterwright", "/usr/share/doc/clusterwright/LICENSE"),
    }
    assert {int(moment) for _, _, moment in rows} == {COMMIT_TIME}
    assert (
        output(*rpm, "--qf", "%{VERSION}-%{RELEASE} %{BUILDHOST} %{BUILDTIME}")
        == f"{FULL} localhost {COMMIT_TIME}"
    )
    assert (
        "(python3 >= 3.11 or python3.13 or python3.12 or python3.11)"
        in output(*rpm, "--requires").splitlines()
    )


@pytest.mark.parametrize("version", ["0.2.0.dev3+gabc", "0.2.0rc1.dev4", "0.2.0rc1"])
def test_a_development_version_precedes_its_release(tools, version):
    """In Debian's order and in RPM's."""
    compare = ["dpkg", "--compare-versions", tools.deb.debian_version(version), "lt", "0.2.0"]

    assert subprocess.run(compare, check=False, timeout=30).returncode == 0
    assert tools.deb.debian_version("0.2.0+g1a2b3") == "0.2.0+g1a2b3"


def test_the_lock_has_every_package_that_the_wheel_requires(tools):
    """In versions that pyproject.toml admits, each with its checksums."""
    from packaging.requirements import Requirement

    lock = dict(re.findall(r"^([a-z0-9.-]+)==(\S+) ", tools.site_packages.LOCK.read_text(), re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [Requirement(line) for line in project["dependencies"]]

    assert {one.name.replace(".", "-") for one in required} <= set(lock)
    assert [str(one) for one in required if lock[one.name.replace(".", "-")] not in one.specifier] == []
    assert tools.site_packages.LOCK.read_text().count("--hash=sha256:") > len(lock)


def test_the_scripts_of_a_package_are_valid_shell(package, tmp_path):
    """As sh reads them, and as shellcheck does."""
    output("dpkg-deb", "-e", package("deb"), tmp_path)

    names = ("postinst", "prerm", "postrm")
    assert set(names) <= {path.name for path in tmp_path.iterdir()}
    for name in names:
        output("sh", "-n", tmp_path / name)
        if shutil.which("shellcheck"):
            output("shellcheck", "-s", "sh", "-e", "SC3043,SC2329,SC2317", tmp_path / name)


def test_a_packaged_unit_waits_for_the_settings_that_its_service_reads():
    """Systemd reports a unit without them as not started, and starts it at the next boot that finds them."""
    for name, text in packaged_units("/usr/bin/wright", SITE).items():
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.read_string(text)
        path = unit["Unit"]["ConditionPathExists"]
        assert path in text.partition("[Service]")[2] or path == SETTINGS, name
