"""Files at the root and in .github that other programs read: llms.txt, templates of issues, the code of conduct."""

import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.cli import commands
from clusterwright.cli._mcp_tools import TOOLS

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)")
TEMPLATES = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def test_llms_txt_follows_its_format_and_every_link_exists():
    """A title, a summary in a quote, then sections of links (llmstxt.org)."""
    text = (ROOT / "llms.txt").read_text()
    title, _, quote, *_ = text.splitlines()
    links = LINK.findall(text)

    assert title == "# Clusterwright"
    assert quote.startswith("> ")
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_llms_txt_names_commands_that_exist():
    """Those that change nothing are those of the tools, and `wright plan` is one command."""
    text = (ROOT / "llms.txt").read_text()
    reading = re.search(r"change nothing: (.+?);", text)[1]
    changing = re.search(r"\. (`apply`.+?) change hosts", text)[1]
    named = set(re.findall(r"`(\w+)`", reading))

    assert named == {tool.command.split()[0] for tool in TOOLS}
    assert set(re.findall(r"`(\w+)`", changing)) <= {name for name, _ in commands()} - named


@pytest.mark.parametrize(
    ("name", "header"), [("assistants.md", "| tool | command |"), ("assistants.zh-CN.md", "| 工具 | 命令 |")]
)
def test_the_page_of_assistants_names_every_tool_and_its_configuration_is_json(name, header):
    """No tool is missing, none is invented; the command line of the configuration is one of wright."""
    page = (ROOT / "docs" / name).read_text()
    table = page.partition(header)[2].partition("\n\n")[0]
    cells = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
    configurations = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]

    assert set(re.findall(r"`(\w+)`", cells)) == {tool.name for tool in TOOLS}
    assert [list(one) for one in configurations] == [["mcpServers"], ["servers"]]
    for one in configurations:
        [(name, server)] = next(iter(one.values())).items()
        assert (name, server["args"][0]) == ("clusterwright", "mcp")


def test_who_finds_a_hole_knows_where_to_report_it():
    """In private; the page of promises and the policy at the root name each other."""
    policy = (ROOT / "SECURITY.md").read_text()

    assert "## Report a hole" in policy
    assert "private" in policy
    assert "(docs/security.md)" in policy
    assert "(../SECURITY.md)" in (ROOT / "docs/security.md").read_text()


@pytest.mark.parametrize(
    "path", [path for path in TEMPLATES if path.name != "config.yml"], ids=lambda path: path.stem
)
def test_a_template_of_issues_has_the_form_that_github_reads(path):
    """Name, description and a body of elements with unique ids; each with a label."""
    template = YAML(typ="safe").load(path)
    elements = [element for element in template["body"] if element["type"] != "markdown"]
    ids = [element["id"] for element in elements]

    assert {"name", "description", "body"} <= set(template)
    assert len(ids) == len(set(ids))
    assert all(element["attributes"]["label"] for element in elements)
    assert {element["type"] for element in elements} <= {"input", "textarea", "dropdown", "checkboxes"}


def test_a_bug_report_asks_for_what_the_error_prints():
    """Version, code and the file of details, by the names that `wright` uses."""
    text = (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text()

    assert "wright-bug-*.txt" in text
    assert "wright-bug-" in (ROOT / "src/clusterwright/cli/_unexpected.py").read_text()
    assert {"version", "code", "details", "command"} <= {
        element.get("id") for element in YAML(typ="safe").load(text)["body"]
    }
