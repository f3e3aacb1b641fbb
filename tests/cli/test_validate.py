"""`wright validate FILE`."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.cli.validate import validate

ROOT = Path(__file__).parents[2]
LAB, GPT = ROOT / "examples" / "lab" / "cluster.yaml", ROOT / "examples" / "lab" / "gpt.yaml"


def wright(*arguments, cwd=None):
    """The command as a user runs it."""
    start = "from clusterwright.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)],
        capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, "NO_COLOR": "1"}, timeout=60,
    )  # fmt: skip


def test_a_good_file_is_one_line_of_good_news():
    """On stderr, because it is talk; exit code 0."""
    done = wright("validate", LAB)

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.endswith("is a valid cluster file: `lab`, 5 hosts, 2 node groups, partitions train\n")


def test_a_job_is_told_by_its_content_and_held_against_a_cluster(tmp_path):
    """Its name plays no part."""
    file = tmp_path / "cluster.yaml"
    file.write_text(GPT.read_text().replace("gpus_per_node: 2", "gpus_per_node: 9"))

    assert "is a valid job file" in wright("validate", file).stderr
    done = wright("validate", file, "--cluster", LAB)
    assert done.returncode == 2
    assert f"{file}:7:16  gpus_per_node: 9" in done.stderr
    assert re.search(rf"{LAB}:\d+:\d+  partitions.train.nodes\n", done.stderr)


def test_a_bad_file_shows_the_line_and_a_caret(tmp_path):
    """Every finding, the count at the end, exit code 2."""
    file = tmp_path / "c.yaml"
    file.write_text(LAB.read_text().replace("name: lab", "name: $(reboot)").replace("os:", "ox:"))
    done = wright("validate", file)
    lines = done.stderr.splitlines()
    caret = next(index for index, line in enumerate(lines) if line.endswith("^"))

    assert (done.returncode, done.stdout) == (2, "")
    assert lines[0] == "error[bad-name]: name: `$(reboot)` is not a cluster name"
    assert lines[caret - 1][lines[caret].index("^") :] == "$(reboot)"
    assert lines[-1] == f"{file}: 2 errors"


def test_json_is_one_document_on_stdout(tmp_path):
    """With every finding and its places; nothing on stderr."""
    file = tmp_path / "c.yaml"
    file.write_text("- no mapping\n")
    done = wright("validate", file, "--json")
    said = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (2, "")
    assert [finding["code"] for finding in said["findings"]] == ["not-a-mapping"]
    assert said["findings"][0]["places"][0]["line"] == 1
    assert json.loads(wright("validate", LAB, "--json").stdout)["findings"] == []


@pytest.mark.parametrize("arguments", [("validate",), ("validate", LAB, "--clustr", LAB), ("validat", LAB)])
def test_bad_usage_is_exit_code_2(arguments):
    """As for every command."""
    assert wright(*arguments).returncode == 2


def test_a_reader_that_goes_away_is_no_crash():
    """`wright schema cluster | head -1`."""
    start = "from clusterwright.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, "schema", "cluster"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        said = process.stderr.read()

    assert said == b""


def test_validating_imports_nothing_it_does_not_need():
    """The quick commands stay quick: no rich, no torch, and not the other file's models."""
    start = (
        "import sys; from clusterwright.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", start, "validate", LAB], capture_output=True, text=True, check=True
    )
    heavy = {
        "rich.console",
        "torch",
        "numpy",
        "clusterwright.config.job",
        "clusterwright.config.report",
        "difflib",
    }

    assert heavy & set(done.stdout.split()) == set()


def test_a_misspelled_section_is_one_error(tmp_path):
    """The unknown key with its correction, not the missing section as well."""
    file = tmp_path / "c.yaml"
    file.write_text(LAB.read_text().replace("partitions:", "partition:"))
    done = wright("validate", file)

    assert "error[unknown-key]" in done.stderr
    assert "did you mean `partitions`?" in done.stderr
    assert done.stderr.endswith("1 error\n")


def test_thousands_of_errors_are_counted(tmp_path):
    """Twenty are shown, JSON has all."""
    file = tmp_path / "c.yaml"
    file.write_text(LAB.read_text() + "".join(f"x{number}: 1\n" for number in range(3000)))
    text, document = wright("validate", file).stderr, json.loads(wright("validate", file, "--json").stdout)

    assert text.count("error[unknown-key]") == 20
    assert "and 2980 more; --json lists all of them" in text
    assert len(document["findings"]) == 3000


def test_a_gpu_that_the_catalog_lacks_is_noted(tmp_path):
    """The file is valid, since the GPU may be new, and the note names similar GPUs."""
    file = tmp_path / "c.yaml"
    file.write_text(
        (ROOT / "examples" / "hgx" / "cluster.yaml").read_text().replace("h100, count", "h1000, count")
    )
    done = wright("validate", file)

    assert done.returncode == 0
    assert "note: nodes.h100.gpus: the catalog has no GPU `h1000`; did you mean `" in done.stderr
    assert "`h100-sxm-80gb`" in done.stderr


def test_several_files_are_validated_at_once(tmp_path, capsys):
    """The exit code is that of the worst; as JSON they are a list."""
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_bytes(LAB.read_bytes())
    bad.write_text(f"{good.read_text()}nodez: 1\n")

    assert validate(good, good) == 0
    assert validate(bad, good) == 2
    err = capsys.readouterr().err
    assert "bad.yaml: 1 error" in err
    assert "good.yaml is a valid cluster file" in err

    assert validate(good, bad, json=True) == 2
    documents = json.loads(capsys.readouterr().out)
    assert [len(document["findings"]) for document in documents] == [0, 1]
