"""The generated references."""

from pathlib import Path

from clusterwright.cli._reference import cli_page, errors_page, fields_page, main, outdated
from clusterwright.config.slurm_rules import all_rules
from clusterwright.config.slurm_rules.reference import rules_page

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "errors"
GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.toml"


def test_the_field_reference_is_up_to_date():
    """`make docs` writes it; the same text is in the checkout."""
    assert (ROOT / "docs" / "reference" / "fields.md").read_text().endswith(fields_page())


def test_the_error_reference_shows_each_code_with_its_example():
    """The page and the golden text."""
    page = errors_page(GOLDEN)

    assert "## gres-mismatch\n" in page
    assert "error[gres-mismatch]: partition `train` has gpus_per_node 8" in page


def test_the_command_reference_has_each_command():
    """One row a command."""
    assert "| Plan | [validate](#wright-validate) | Validate cluster and job files" in cli_page()


def test_the_reference_of_lint_has_each_rule():
    """With what holds for correct files, its severity, the section of the manual and a wrong example."""
    page = rules_page()

    assert (ROOT / "docs" / "reference" / "lint.md").read_text().endswith(page)
    assert page.count("\n### ") == len(all_rules())
    assert "### gres-types-missing\n\nGresTypes names each GRES" in page
    assert "Error; slurm.conf(5), GresTypes.\n\n```ini\n# slurm.conf\nNodeName=n1 Gres=gpu:4\n```" in page


def test_check_and_write(tmp_path, capsys):
    """A missing page is out of date, is written, and then is not."""
    (tmp_path / "tests" / "golden").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "glossary.toml").write_text(GLOSSARY.read_text())
    root = ["--root", str(tmp_path)]

    assert main(["--check", *root]) == 1
    assert "is out of date" in capsys.readouterr().err
    assert main(["--write", *root]) == 0
    assert main(["--check", *root]) == 0
    assert outdated(tmp_path / "docs" / "reference", GOLDEN).keys() == {
        tmp_path / "docs" / "reference" / "errors.md"
    }
