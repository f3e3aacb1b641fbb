"""`wright plugins`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clusterwright.errors import WrightError
    from clusterwright.plugins import Plugin


def plugins(*, json: Annotated[bool, Parameter(negative="")] = False) -> int:
    """List the plug-ins of other packages: checks, roles, failure modes, launchers and faults.

    Exit code: 1 if one cannot be loaded; the commands that use its kind are then refused.

    Parameters
    ----------
    json
        Print one JSON document on stdout.
    """
    from clusterwright.cli._show import show_error, show_json, show_message, show_table
    from clusterwright.errors import EXIT_FAILED, EXIT_OK
    from clusterwright.plugins import names
    from clusterwright.plugins import plugins as installed

    problems = _problems(installed())
    rows = [
        (plugin.group, plugin.package, plugin.version, ", ".join(names(plugin))) for plugin in installed()
    ]
    if json:
        findings = [finding for problem in problems for finding in problem.findings]
        show_json({"plugins": installed(), "findings": findings})
    elif rows:
        show_table(("kind", "package", "version", "names"), rows)
        for problem in problems:
            show_error(str(problem))
    else:
        show_message(_("no plug-in is installed"))
    return EXIT_FAILED if problems else EXIT_OK


def _problems(installed: tuple[Plugin, ...]) -> list[WrightError]:
    """Load each kind that a plug-in extends; return the errors, also one for each plug-in of an unknown group."""
    from clusterwright.errors import WrightError
    from clusterwright.plugins import GROUPS

    problems = []
    loaders = _loaders()
    for group in dict.fromkeys(plugin.group for plugin in installed):
        if group in loaders:
            try:
                loaders[group]()
            except WrightError as error:
                problems.append(error)
            continue
        reason = _(
            "there is no such group; the groups are {names}",
            names=", ".join(f"clusterwright.{name}" for name in GROUPS),
        )
        problems += [plugin.error(reason) for plugin in installed if plugin.group == group]
    return problems


def _loaders() -> Mapping[str, Callable[[], object]]:
    from clusterwright import plugins
    from clusterwright.check.registry import all_checks
    from clusterwright.diagnose.knowledge import knowledge
    from clusterwright.edge.bundler import library
    from clusterwright.lab.faults import kinds
    from clusterwright.provision.roles import roles

    def launchers() -> None:
        plugins.folders("launchers")
        library()

    return {
        "checks": all_checks,
        "roles": roles,
        "failure_modes": knowledge,
        "launchers": launchers,
        "faults": kinds,
    }
