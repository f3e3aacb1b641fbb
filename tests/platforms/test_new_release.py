"""A release that nobody has heard of: one file dropped into the folder, and every command knows it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "render"
FAKE = """
like = "{like}"
os_release_id = "fakeos"
os_release_version = "1"
ntp_pool = "pool.fakeos.example"
chrony_options_variable = "FAKE_OPTIONS"

[units]
"chrony.service" = "fake-chrony.service"

[paths]
"/etc/chrony/chrony.conf" = "/etc/fake/chrony.conf"
"""
MOVED = {
    "/etc/chrony/chrony.conf": "/etc/fake/chrony.conf",
    "/etc/chrony.conf": "/etc/fake/chrony.conf",
    "/chrony.service.d/clusterwright.conf": "/fake-chrony.service.d/clusterwright.conf",
}
CHANGED = {
    "/etc/fake/chrony.conf": ("2.rocky.pool.ntp.org", "pool.fakeos.example"),
    "/etc/default/chrony": ("DAEMON_OPTS", "FAKE_OPTIONS"),
}
LIBRARY = "all/opt/clusterwright/lib/"  # a stand-in in golden trees
COMMAND = "from clusterwright.cli import main; main()"
READ = """
from clusterwright.check.facts.os_release import os_release
print(os_release.parse('ID="fakeos"\\nVERSION_ID="1.4"\\n'))
"""


@pytest.fixture
def wright(tmp_path):
    """The command, or another program, with a package that is this one and one file more."""
    package = tmp_path / "package" / "clusterwright"
    platforms = package / "platforms"
    platforms.mkdir(parents=True)
    for folder, target in (
        (ROOT / "src/clusterwright", package),
        (ROOT / "src/clusterwright/platforms", platforms),
    ):
        for path in folder.iterdir():
            if path.name != "platforms":
                (target / path.name).symlink_to(path)

    def run(*arguments, like="debian-12", program=COMMAND):
        (platforms / "fakeos-1.toml").write_text(FAKE.format(like=like))
        return subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(package.parent), "NO_COLOR": "1"},
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip

    return run


def files_of(folder):
    """`{place/path: text}` of everything below the folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def on_the_fake(path, text):
    """Where a file of the release that the fake is like lies on the fake, and what is in it."""
    for old, new in MOVED.items():
        path = path.removesuffix(old) + new if path.endswith(old) else path
    for place, (old, new) in CHANGED.items():
        text = text.replace(old, new) if path.endswith(place) else text
    return path, text


@pytest.mark.parametrize(("example", "like"), [("lab", "debian-12"), ("a100", "rocky-9")])
def test_only_what_the_file_says_differs(wright, tmp_path, example, like):
    """The golden tree, but for the lines and paths that the release's file names."""
    text = (ROOT / "examples" / example / "cluster.yaml").read_text()
    rendered = {}
    for name in (like, "fakeos-1"):
        (tmp_path / "cluster.yaml").write_text(text.replace(f"os: {like}\n", f"os: {name}\n"))
        done = wright("render", "--out", name, like=like)
        assert done.returncode == 0, done.stderr
        rendered[name] = files_of(tmp_path / name)
    golden = {name: text for name, text in files_of(GOLDEN / example).items() if not name.startswith(LIBRARY)}
    del golden["MANIFEST"]
    expected = dict(on_the_fake(*file) for file in rendered[like].items())

    assert golden.items() <= rendered[like].items()
    assert rendered["fakeos-1"] == expected
    assert expected != rendered[like]


def test_a_cluster_file_may_name_it(wright, tmp_path):
    """`wright validate` takes it, `wright schema` offers it, and one that has no file is refused with its name."""
    text = (ROOT / "examples/lab/cluster.yaml").read_text()
    (tmp_path / "cluster.yaml").write_text(text.replace("os: debian-12\n", "os: fakeos-1\n"))
    (tmp_path / "other.yaml").write_text(text.replace("os: debian-12\n", "os: fakeos-2\n"))
    good, bad, schema = (
        wright("validate", "cluster.yaml"),
        wright("validate", "other.yaml"),
        wright("schema", "cluster"),
    )

    assert "is a valid cluster file" in good.stderr
    assert (bad.returncode, "did you mean `fakeos-1`" in bad.stdout + bad.stderr) == (2, True)
    assert '"fakeos-1"' in schema.stdout


def test_a_host_of_it_is_known_by_what_it_calls_itself(wright):
    """Its os-release(5) has the fake's ID, and a version of the fake's."""
    assert wright(program=READ).stdout == "fakeos-1\n"


def test_rules_speak_of_what_it_has(wright, tmp_path):
    """It has the Slurm of the release that it is like, and no image of a lab where that has none."""
    text = (ROOT / "examples/lab/cluster.yaml").read_text().replace("os: debian-12\n", "os: fakeos-1\n")
    (tmp_path / "cluster.yaml").write_text(text)
    done = wright("validate", "cluster.yaml", like="ubuntu-24.04")

    assert "lab hosts cannot run fakeos-1, only debian-12, debian-13" in done.stdout + done.stderr
