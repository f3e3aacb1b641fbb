"""Each line of the field guides has an answer: a command that is run here, or a test that is collected.

The data is in tests/guides/lines. Fields of a line: `id`, `guide`, `text` (the line as a reader types it, or the
claim), `files` (name and text of files in the folder) and `answers`. Fields of an answer: `kind` (real, emulated or
rendered), and

- `run`: arguments of `wright`, with `stdin`, `cluster` (an example), `changes` (texts to replace in its cluster.yaml).
  Expected: `exit` (default: 0), the texts `contains`, none of `lacks`, `first` (the mode of the first diagnosis), and
  `written` (a pattern of files, and a text in one of them). `limit_s` runs it in a process of its own, within seconds;
- or `test`: file, folder or function of the tests that prove the answer;
- `missing`: what Clusterwright does not do; its `run`, if there is one, fails until it does.
"""

import shlex
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = [
    line
    for path in sorted((Path(__file__).parent / "lines").glob("*.toml"))
    for line in tomllib.loads(path.read_text())["line"]
]
COUNT = 51


def answers(field):
    """Yield line and answer of the answers with this field, as cases of a test."""
    for line in LINES:
        for number, answer in enumerate(line["answers"], 1):
            missing = [pytest.mark.xfail(reason=answer["missing"])] if "missing" in answer else []
            if field in answer:
                yield pytest.param(line, answer, id=f"{line['id']}.{number}", marks=missing)


@pytest.mark.timeout(130)
@pytest.mark.parametrize(("line", "answer"), list(answers("run")))
def test_a_command_answers_the_line(line, answer, tmp_path, wright, wright_process):
    """The command ends with its exit code, and its output has the answer."""
    for name, text in (line.get("files", {}) | answer.get("files", {})).items():
        (tmp_path / name).write_text(text)
    if "cluster" in answer:
        (tmp_path / "cluster.yaml").write_text(cluster_text(answer["cluster"], answer.get("changes", [])))
    argv = shlex.split(answer["run"])
    run = wright_process if "limit_s" in answer else wright
    done = run(argv, answer.get("limit_s") or answer.get("stdin", ""))
    output = done.out + done.err

    assert done.code == answer.get("exit", 0), output
    assert [text for text in answer.get("contains", []) if text not in output] == [], output
    assert [text for text in answer.get("lacks", []) if text in output] == [], output
    assert answer.get("first", "") in ["", *done.out.partition("\n")[0].split()], output
    if "written" in answer:
        pattern, text = answer["written"]
        assert any(text in path.read_text() for path in tmp_path.glob(pattern))


def cluster_text(example, changes):
    """Return the example's cluster file with the changes, each of which applies."""
    text = (ROOT / "examples" / example / "cluster.yaml").read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_a_test_of_an_answer_is_collected(tests_by_path):
    """Each test that is an answer exists, and pytest collects it."""
    named = {answer["test"] for line in LINES for answer in line["answers"] if "test" in answer}
    collected = tests_by_path(named)

    assert len(named) > 20
    assert [path for path in sorted(named) if not collected[path]] == []


def test_every_line_has_answers():
    """Every line of the guides is here once, with an answer of a known kind; 95 % of the answers are not missing."""
    given = [answer for line in LINES for answer in line["answers"]]

    assert len({line["id"] for line in LINES}) == len(LINES) == COUNT
    assert all(line["answers"] for line in LINES)
    assert {answer["kind"] for answer in given} == {"real", "emulated", "rendered"}
    assert all(("run" in answer) + ("test" in answer) == 1 for answer in given if "missing" not in answer)
    assert sum("missing" in answer for answer in given) <= 0.05 * len(given)


def test_the_page_is_current(load_tool):
    """docs/guide-lines.md has the lines as they are in the data."""
    assert "docs/guide-lines.md" not in load_tool("coverage-pages").outdated(), "run tools/coverage-pages"
