"""`wright explain FIELD|CODE`."""

import json

import pytest

from clusterwright.cli.explain import explain
from clusterwright.config.slurm_rules import all_rules
from clusterwright.errors import WrightError
from clusterwright.i18n import in_language


@pytest.mark.parametrize(
    ("what", "lines"),
    [
        (
            "nodes.a100.gpus.count",
            ["cluster: nodes.NAME.gpus.count", "  cost of change: drain"],
        ),
        ("job.nodes", ["job: nodes", "  default:        1"]),
        ("cluster.time.zone", ["cluster: time.zone", "  example:        Asia/Shanghai"]),
        ("storage.server", ["cluster: storage.NAME.server (kind: nfs)"]),
        ("gres-mismatch", ["# gres-mismatch"]),
    ],
)
def test_fields_and_codes_are_explained(what, lines, capsys):
    """Meaning, what it takes, its default, an example and the cost; or the page of an error."""
    assert explain(what) == 0

    said = capsys.readouterr().out.splitlines()
    assert set(lines) <= set(said)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_of_lint_is_explained(rule, capsys):
    """Its sentence and source, the wrong example and the corrected one."""
    assert explain(rule.code) == 0
    out = capsys.readouterr().out

    assert out.startswith(f"# {rule.code}\n")
    assert {rule.about, f"{rule.severity.value.capitalize()}; {rule.source}."} <= set(out.splitlines())
    for text in (rule.wrong, rule.correct):
        assert {line for line in text.splitlines() if not line.startswith("--- ")} <= set(out.splitlines())


def test_a_failure_mode_is_explained_in_either_language(capsys):
    """Its page, by the name that `wright why` gives."""
    with in_language("zh"):
        explain("shm/full")
    chinese = capsys.readouterr().out
    explain("shm/full", json=True)
    document = json.loads(capsys.readouterr().out)

    assert chinese.startswith("# shm/full")
    assert any("一" <= sign <= "鿿" for sign in chinese)
    assert document["mode"] == "shm/full"
    assert "**Cause**" in document["page"]


def test_a_mode_that_is_not_there_is_refused_with_the_one_that_is_meant():
    """By its name."""
    with pytest.raises(WrightError, match="no failure mode has the name `shm/ful`") as caught:
        explain("shm/ful")

    assert caught.value.findings[0].fix == "did you mean `shm/full`?"


def test_a_field_of_both_files_is_explained_for_both(capsys):
    """`nodes` is a mapping of groups in one and a number in the other."""
    explain("nodes")

    said = capsys.readouterr().out
    assert "cluster: nodes\n" in said
    assert "job: nodes\n" in said


@pytest.mark.parametrize(
    ("what", "meant"),
    [
        ("nodes.gpu.cout", "nodes.gpus.count"),
        ("gres-mismatc", "gres-mismatch"),
        ("gpus-unconstraine", "gpus-unconstrained"),
        ("zzz", "wright schema cluster"),
    ],
)
def test_what_is_not_known_is_mended(what, meant):
    """Did you mean; exit code 2."""
    with pytest.raises(WrightError, match=f"unknown-topic.*\nfix: .*{meant}") as caught:
        explain(what)

    assert caught.value.exit_code == 2


def test_json(capsys):
    """Fields as a list of objects, a code as its page."""
    explain("nodes.gpus.count", json=True)
    assert json.loads(capsys.readouterr().out)[0]["takes"] == "an integer from 1 to 128"

    explain("gres-mismatch", json=True)
    assert json.loads(capsys.readouterr().out)["page"].startswith("# gres-mismatch")


def test_gradient_compression_of_other_software_names_the_fields_that_cover_it(capsys):
    """PowerSGD and 8 bits in place of LightCC."""
    assert explain("LightCC") == 0
    out = capsys.readouterr().out
    assert explain("lightcc", json=True) == 0
    document = json.loads(capsys.readouterr().out)

    assert "PowerSGD" in out
    assert "int8" in out
    assert "gradients.compress" in out
    assert [field["path"] for field in document["fields"]][:1] == ["gradients.compress"]


@pytest.mark.parametrize(
    ("topic", "fix"),
    [
        ("apply", "the name is that of a command: wright apply --help"),
        ("job", "all fields of the file: wright schema job; one of them: wright explain FIELD"),
        ("CUDA out of memory", "for a line of a log: echo 'CUDA out of memory' | wright why -; "),
        ("SelectType", "the name is that of a key of slurm.conf: man slurm.conf"),
        (
            "returntoservice",
            "the name is that of a key of slurm.conf: man slurm.conf; wright explain slurm.options",
        ),
        ("ConstrainCores", "the name is that of a key of cgroup.conf: man cgroup.conf"),
        ("NCCL", "for a line of a log: echo NCCL | wright why -; "),
    ],
)
def test_other_topics_have_other_commands(topic, fix):
    """Commands, kinds of files and lines of logs; no page of the repository, which an installed tool lacks."""
    with pytest.raises(WrightError) as caught:
        explain(topic)
    assert caught.value.findings[0].fix.startswith(fix)
