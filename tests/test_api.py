"""The Python interface: what docs/api.md shows runs, and its table of names is complete, typed and documented."""

import enum
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clusterwright as cw

ROOT = Path(__file__).parents[1]
PAGES = ("api.md", "api.zh-CN.md")
PAGE = (ROOT / "docs" / "api.md").read_text()
NAMES = re.findall(r"^\| `cw\.([\w.]+)", PAGE, re.MULTILINE)
PACKAGES = ("plan", "check", "launch", "diagnose", "monitor", "catalog")
UNDOCUMENTED = {"catalog.UserCatalog", "catalog.resembling"}


def resolve(name):
    """What a dotted name of the table means."""
    value = cw
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_page_run(page, tmp_path):
    """In order, in one program, in a folder with the examples of the repository."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    program = "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

    assert program.count("cw.") > 10
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_type_checker_understands_the_examples(tmp_path):
    """All of them, also those that need a cluster; a name that does not exist is an error."""
    examples = tmp_path / "examples.py"
    text = "\n".join(re.findall(r"```python(?: no-run)?\n(.*?)```", PAGE, re.DOTALL))
    examples.write_text(f"{text}\ncw.plan.finds\ncw.launch.starts\ncw.plans\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", examples], cwd=ROOT,
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    wrong = re.findall(r'error: Module has no attribute "(\w+)"', done.stdout)

    assert wrong == ["finds", "starts", "plans"], done.stdout + done.stderr
    assert done.stdout.count("error:") == 3, done.stdout


def test_examples_that_need_a_cluster_use_names_of_the_table():
    """They are not run; each function exists and takes what it is given."""
    [text] = re.findall(r"```python no-run\n(.*?)```", PAGE, re.DOTALL)

    assert set(re.findall(r"cw\.([\w.]+)\(", text)) <= set(NAMES)
    compile(text, "docs/api.md", "exec")


def test_the_table_lists_all_public_names():
    """Those of the package, and `__all__` of each package that it names."""
    own = {name for name in dir(cw) if name not in (*PACKAGES, "__version__")}
    inside = {f"{package}.{name}" for package in PACKAGES for name in resolve(package).__all__}

    assert sorted(NAMES) == sorted(own | inside - UNDOCUMENTED)


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_types_and_a_docstring(name):
    """A function annotates all its arguments and its result."""
    value = resolve(name)
    summary = (inspect.getdoc(value) or "").partition("\n")[0]

    assert summary.endswith((".", ":", ",")) or len(summary) > 40
    if inspect.isfunction(value):
        signature = inspect.signature(value)
        annotations = [one.annotation for one in signature.parameters.values()]
        assert inspect.Signature.empty not in (*annotations, signature.return_annotation)


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(resolve(name))])
def test_a_public_class_is_frozen(name):
    """What a function returned does not change; errors and enumerations are no records."""
    value = resolve(name)
    if issubclass(value, Exception | enum.Enum):
        return
    parameters = getattr(value, "__dataclass_params__", None)

    assert parameters.frozen if parameters else value.model_config["frozen"]


def test_the_import_loads_nothing_else():
    """The interface costs programs nothing until they use it, and `wright --help` nothing at all."""
    program = "import sys, clusterwright; print(*(name for name in sys.modules if 'clusterwright.' in name))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.split() == []


def test_a_function_keeps_its_name_when_its_module_is_imported():
    """`plan.search` is a package and a function of that name; the function is what the attribute means."""
    program = (
        "import clusterwright as cw, clusterwright.plan.search.engine, clusterwright.plan.cost.report\n"
        "import clusterwright.plan.fabric.compare\n"
        "print(*map(callable, (cw.plan.search, cw.plan.cost, cw.plan.fabric)))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

    argv = [sys.executable, "-c", program]
    result = subprocess.run(argv, env=env, timeout=60, check=True, capture_output=True, text=True)
    assert result.stdout.split() == ["True", "True", "True"]


def test_an_error_has_the_code_of_its_first_finding():
    """The codes of all others are in the findings."""
    with pytest.raises(cw.WrightError) as told:
        cw.plan.training("llama3-71b", seq=0, global_batch=1)

    assert told.value.code == told.value.findings[0].code
    assert {one.code for one in told.value.findings} == {"plan-bad-size", "unknown-model"}


def test_a_name_that_does_not_exist_is_an_attribute_error():
    """As of any module, so that hasattr and completion work."""
    assert not hasattr(cw, "plans")
    assert not hasattr(cw.plan, "find")
    assert not hasattr(cw.launch, "start")
