"""The pre-commit hook and the GitHub Action run the commands that they name."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
CLUSTER = (ROOT / "examples/university/cluster.yaml").read_text()
JOB = (ROOT / "examples/university/resnet.yaml").read_text()


@pytest.fixture
def site(tmp_path):
    """A repository with a valid cluster file, a valid job file and an invalid cluster file; `wright` is on PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/wright"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m clusterwright "$@"\n')
    program.chmod(0o755)
    site = tmp_path / "my site"
    for name, text in (
        ("cluster.yaml", CLUSTER),
        ("job.yaml", JOB),
        ("test/cluster.yaml", f"{CLUSTER}nodez: 1\n"),
    ):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    for command in (("init", "-q"), ("add", ".")):
        subprocess.run(["git", *command], cwd=site, check=True, timeout=20)
    return site


def run(site, argv, **variables):
    """Run a command line in the repository."""
    env = {**os.environ, "PATH": f"{site.parent / 'bin'}:{os.environ['PATH']}", **variables}
    return subprocess.run(argv, cwd=site, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_the_hook_validates_the_files_that_pre_commit_passes(site):
    """All files on one command line; the exit code and the message are those of the wrong one."""
    [hook] = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    files = [str(path.relative_to(site)) for path in site.rglob("*.yaml")]
    passed = sorted(path for path in files if re.search(hook["files"], path))
    command = [*shlex.split(hook["entry"]), *hook["args"]]
    good = run(site, [*command, "cluster.yaml", "job.yaml"])
    bad = run(site, [*command, *passed])

    assert hook["language"] == "python"
    assert passed == ["cluster.yaml", "job.yaml", "test/cluster.yaml"]
    assert good.returncode == 0, good.stderr
    assert bad.returncode == 2
    assert "test/cluster.yaml" in bad.stderr
    assert "nodez" in bad.stderr


def test_a_name_in_a_commit_is_no_option_of_the_hook(site):
    """A folder may have any name."""
    [hook] = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
    name = "--json=/job.yaml"
    (site / name).parent.mkdir()
    (site / name).write_text(JOB.replace("nodes:", "nodez:"))
    result = run(site, [*shlex.split(hook["entry"]), *hook.get("args", []), "cluster.yaml", name])

    assert result.returncode == 2
    assert "nodez" in result.stderr


@pytest.fixture
def action(site):
    """Run the last step of the action with inputs."""
    document = YAML(typ="safe").load(ROOT / "action.yml")
    *_, step = document["runs"]["steps"]
    defaults = {name: value["default"] for name, value in document["inputs"].items()}

    def run_step(**inputs):
        inputs = defaults | inputs
        variables = {
            name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: inputs[match[1]], value)
            for name, value in step["env"].items()
        }
        # The command line with which GitHub runs `shell: bash`.
        return run(site, ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]], **variables)

    return run_step


def test_the_action_validates_each_cluster_file_of_the_repository(action):
    """In every folder, by default."""
    result = action()

    assert result.returncode == 2
    assert "cluster.yaml is a valid cluster file" in result.stderr
    assert "test/cluster.yaml: 1 error" in result.stderr


def test_the_action_validates_the_files_of_its_inputs(action):
    """A pattern a line; job files against the cluster file."""
    result = action(files="job.yaml\ncluster.yaml\n", cluster="cluster.yaml")

    assert result.returncode == 0, result.stderr
    assert "cluster.yaml can run it" in result.stderr


def test_the_action_validates_a_file_of_any_name(action, site):
    """Git writes names outside ASCII in quotes, unless it is told not to."""
    (site / "集群").mkdir()
    (site / "集群/cluster.yaml").write_text(f"{CLUSTER}nodez: 1\n")
    run(site, ["git", "add", "-A"])

    assert "集群/cluster.yaml: 1 error" in action().stderr


def test_the_action_fails_without_a_file(action):
    """A wrong pattern is not a success."""
    result = action(files="clusters/*.yaml")

    assert result.returncode == 2
    assert "no file of this repository matches: clusters/*.yaml" in result.stderr


def test_an_input_of_the_action_is_no_command(action, site):
    """Neither in the pattern nor in the name of the cluster file."""
    action(files="$(touch ran)\n`touch ran`", cluster='"; touch ran; "')
    action(files="job.yaml", cluster='"; touch ran; "')

    assert not (site / "ran").exists()


def test_a_name_in_a_pull_request_is_no_command_of_the_runner(action, site):
    """The runner reads lines that begin with `::`, and `##[` anywhere, until commands are stopped by a secret token."""
    folder = site / "::error file=x::invented"
    folder.mkdir()
    (folder / "cluster.yaml").write_text("name: [\n")
    subprocess.run(["git", "add", "."], cwd=site, check=True)
    result = action()
    first, *lines, last = result.stdout.splitlines()

    assert re.fullmatch(r"::stop-commands::([0-9a-f]{32})", first)
    assert last == f"::{first.rpartition('::')[2]}::"
    assert not [line for line in lines if first.rpartition("::")[2] in line]
    assert "::error file=x::invented/cluster.yaml" in result.stdout + result.stderr
    assert result.returncode == 2


def test_a_link_in_a_pull_request_shows_no_file_of_the_runner(action, site):
    """An error quotes the line of the file."""
    secret = site.parent / "secret"
    secret.write_text("machine example.com words ofarunner: [\n")
    (site / "b").mkdir()
    (site / "b/cluster.yaml").symlink_to(secret)
    subprocess.run(["git", "add", "."], cwd=site, check=True)
    result = action()

    assert "ofarunner" not in result.stdout + result.stderr
    assert "cluster.yaml is a valid cluster file" in result.stderr


@pytest.mark.parametrize("link", ["b/site.yaml", "b"])
def test_the_cluster_file_of_the_action_is_no_link_of_a_pull_request(action, site, link):
    """Neither the file nor a folder above it; a file that git does not have is refused as well."""
    secret = site.parent / "outside/site.yaml"
    secret.parent.mkdir()
    secret.write_text("machine example.com words ofarunner: [\n")
    (site / link).parent.mkdir(exist_ok=True)
    (site / link).symlink_to(secret if link.endswith("yaml") else secret.parent)
    subprocess.run(["git", "add", "."], cwd=site, check=True)
    for cluster in ("b/site.yaml", "./b/site.yaml", "../outside/site.yaml", str(secret), "b/*"):
        result = action(files="job.yaml", cluster=cluster)

        assert "ofarunner" not in result.stdout + result.stderr
        assert f"cluster is no regular file of this repository: {cluster}" in result.stderr
        assert result.returncode == 2


@pytest.mark.parametrize(
    "module", ["pip/__main__.py", "typing.py", "secrets.py", "clusterwright/__init__.py"]
)
def test_no_step_of_the_action_runs_a_module_of_the_pull_request(action, site, module):
    """Each step runs in the checkout, which Python would take for a folder of modules."""
    install = YAML(typ="safe").load(ROOT / "action.yml")["runs"]["steps"][1]["run"]
    (site / module).parent.mkdir(exist_ok=True)
    (site / module).write_text("import pathlib; pathlib.Path('ran').touch()\n")
    (site / module).with_name("__init__.py").touch()
    for name, text in (
        ("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n'),
        ("wright", f"#!{sys.executable}\nfrom clusterwright.cli import main\nmain()\n"),  # as pip writes it
    ):
        (site.parent / "bin" / name).write_text(text)
        (site.parent / "bin" / name).chmod(0o755)
    run(site, ["bash", "-c", install], GITHUB_ACTION_PATH="/nonexistent")
    action()

    assert not (site / "ran").exists()


def test_the_action_installs_the_release_that_it_is_part_of():
    """The folder of the action is this repository; the inputs stand in no script."""
    steps = YAML(typ="safe").load(ROOT / "action.yml")["runs"]["steps"]

    assert steps[1]["run"] == 'python -I -m pip install --quiet "$GITHUB_ACTION_PATH"'
    assert (ROOT / "pyproject.toml").exists()
    assert not [step for step in steps if "${{" in step.get("run", "")]
