"""The modules that open network connections are named here, with whom they reach: docs/privacy.md has the same list."""

import ast

NETWORK = {
    *(
        "socket",
        "ssl",
        "http",
        "urllib.request",
        "urllib3",
        "smtplib",
        "ftplib",
        "imaplib",
        "poplib",
        "socketserver",
    ),
    *(
        "xmlrpc",
        "httpx",
        "requests",
        "aiohttp",
        "websockets",
        "paramiko",
        "boto3",
        "sentry_sdk",
        "posthog",
        "opentelemetry",
    ),
    *("wandb", "mlflow", "swanlab", "mcp", "uvicorn", "huggingface_hub"),
}
# Out of the cluster, to addresses that the operator's or the user's own file names.
OUTSIDE = {
    "onhost/object_storage/bucket.py": "the object storage of `checkpoint.upload_to` in a job file",
    "onhost/notify/send.py": "receivers of alerts: `monitoring.receivers`",
    "onhost/notify/zabbix/figures.py": "reads Prometheus on loopback for the site's Zabbix",
    "onhost/notify/zabbix/site.py": "the site's Zabbix: `monitoring.receivers`",
    "onhost/notify/zabbix/wire.py": "the site's Zabbix: `monitoring.receivers`",
    "onhost/power/providers/redfish.py": "BMCs of the hosts: `slurm.power_saving.provider`",
    "onhost/trackers/mlflow.py": "the server of `trackers:` in a job file",
    "onhost/trackers/swanlab.py": "the server of `trackers:` in a job file",
    "onhost/trackers/wandb.py": "the server of `trackers:` in a job file",
}
# On the operator's machine; ssh, which `edge` starts, is the only way from there to a cluster.
OPERATOR = {
    "cli/_mcp_server.py": "stdin and stdout of the assistant that started it",
    "cli/_slurm_files.py": "the name of this machine, and names of controllers with `wright lint --resolve`",
    "lab/boot.py": "virtual hosts on this machine",
    "lab/switch.py": "a Unix socket of a lab",
    "launch/hosts/start.py": "whether a name of the hostfile is this machine's; no connection",
    "monitor/gather/gather.py": "the name of this machine; no connection",
    "monitor/web/serve.py": "listens for browsers; opens no connection",
}
# Between hosts of the cluster, or on loopback of one.
WITHIN = ("onhost/", "runtime/")
# Programs of Python's standard library that reach the internet by a URL: within a cluster, only for loopback and hosts.
URLS = {
    "onhost/dev/jupyter.py": "JupyterLab on loopback",
    "onhost/exporter/server.py": "listens for Prometheus",
    "onhost/notify/server.py": "listens on loopback",
    "onhost/probes/fetch.py": "exporters of hosts",
    "onhost/snapshot/monitors.py": "Prometheus and Alertmanager on loopback",
}


def network_modules(module):
    """Return the network modules that a file imports, also within functions."""
    imported = {name for _, name in module.imports}
    imported |= {
        f"{node.module}.{alias.name}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    return {
        network
        for network in NETWORK
        for name in imported
        if name == network or name.startswith(f"{network}.")
    }


def test_only_these_modules_connect_out_of_the_cluster(source):
    """A module that imports a network library is in a list, and each entry of the lists is such a module."""
    users = {module.inside: modules for module in source if (modules := network_modules(module))}
    named = {**OUTSIDE, **OPERATOR, **URLS}
    missing = {
        name: modules
        for name, modules in users.items()
        if name not in named and not (name.startswith(WITHIN) and modules == {"socket"})
    }

    assert len(users) > 30
    assert missing == {}
    assert [name for name in named if name not in users] == []


def test_no_module_downloads_with_a_program_of_the_system(source):
    """Neither curl nor wget is started; package managers of hosts are named in docs/privacy.md."""
    programs = {"curl", "wget", "telnet", "nc", "ncat", "ftp", "scp"}
    wrong = [
        f"{module.name}:{node.lineno}"
        for module in source
        for node in ast.walk(module.tree)
        if isinstance(node, ast.List | ast.Tuple)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value in programs
    ]

    assert wrong == []
