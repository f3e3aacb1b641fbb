"""A site's Zabbix, real: MariaDB, the server and the frontend's API, of Debian's packages, in a folder of its own."""

import gzip
import json
import os
import random
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PACKAGES = (
    "zabbix-server-mysql zabbix-frontend-php mariadb-server-core mariadb-client-core php-cli php-mysql php-bcmath"
    " php-gd php-mbstring php-xml php-curl"
)
SCHEMA = Path("/usr/share/zabbix-server-mysql")
FRONTEND = Path("/usr/share/zabbix")
NEEDED = ("zabbix_server", "mariadbd", "mariadb-install-db", "mariadb", "php")
# Of what Zabbix brings along: who may sign in. Its 300 stock templates are left out, for they take minutes to load.
TABLES = "config|role|role_rule|users|usrgrp|users_groups|hstgrp|regexps|expressions|globalmacro|module|ids|ha_node"

_SERVER_CONF = """
LogFile={folder}/server.log
PidFile={folder}/server.pid
SocketDir={folder}
DBSocket={folder}/db.sock
DBHost=localhost
DBName=zabbix
DBUser=root
ListenIP=127.0.0.1
ListenPort={port}
CacheUpdateFrequency=1
StartPollers=1
StartPollersUnreachable=1
StartPingers=0
StartDiscoverers=0
StartHTTPPollers=0
StartEscalators=1
StartAlerters=1
StartDBSyncers=1
StartPreprocessors=1
StartLLDProcessors=1
StartTrappers=2
StartReportWriters=0
StartTimers=1
StartODBCPollers=0
StartHistoryPollers=1
CacheSize=16M
HistoryCacheSize=8M
AllowRoot=1
AllowUnsupportedDBVersions=1
TLSCAFile={folder}/tls/ca.crt
TLSCertFile={folder}/tls/server.crt
TLSKeyFile={folder}/tls/server.key
"""

_WEB_CONF = """<?php
$DB = ['TYPE' => 'MYSQL', 'SERVER' => 'localhost', 'PORT' => '0', 'DATABASE' => 'zabbix', 'USER' => 'root',
  'PASSWORD' => '', 'SCHEMA' => '', 'ENCRYPTION' => false, 'KEY_FILE' => '', 'CERT_FILE' => '', 'CA_FILE' => '',
  'VERIFY_HOST' => false, 'CIPHER_LIST' => '', 'VAULT_URL' => '', 'VAULT_DB_PATH' => '', 'VAULT_TOKEN' => '',
  'DOUBLE_IEEE754' => true];
$ZBX_SERVER = '127.0.0.1';
$ZBX_SERVER_PORT = '%d';
$ZBX_SERVER_NAME = '';
$IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
"""


def lacking():
    """What is not installed here."""
    lacks = [name for name in NEEDED if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
    return lacks + [str(path) for path in (SCHEMA, FRONTEND) if not path.is_dir()]


def free_port():
    """One that nobody listens on; Zabbix takes none above 32767."""
    for port in random.sample(range(20000, 32768), 100):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("no free port")


def until(what, limit_s=240, every_s=0.3):
    """What it gives as soon as that is something; an error where it never is."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(every_s)
    raise AssertionError(f"not within {limit_s} s")


def listens(port):
    """Whether somebody does."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Site:
    """Its trapper's port, and its API."""

    port: int
    web: int
    folder: Path
    token: str = ""
    server: ExitStack = field(default_factory=ExitStack)

    def start(self):
        """The server, which listens then; `server.close` ends it."""
        argv = ("zabbix_server", "-f", "-c", f"{self.folder}/server.conf")
        self.server.enter_context(process(*argv, log=self.folder / "out.log"))
        until(lambda: listens(self.port))

    def ask(self, method, **params):
        """The result of a call of the API."""
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1, "auth": self.token or None}
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.web}/api_jsonrpc.php", json.dumps(body).encode(),
            {"Content-Type": "application/json-rpc"},
        )  # fmt: skip
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=240) as answer:
            said = json.loads(answer.read())
        assert "result" in said, said
        return said["result"]

    def take(self, text):
        """A template's file, as a person imports it."""
        both = {"createMissing": True, "updateExisting": True}
        parts = ("groups", "templates", "valueMaps", "items", "triggers", "discoveryRules")
        rules = dict.fromkeys(parts, both)
        return self.ask("configuration.import", format="json", source=text, rules=rules)

    def host(self, name, template, **more):
        """A host with that template, which is all that a site makes."""
        group = self.ask("hostgroup.get", filter={"name": "Zabbix servers"})[0]["groupid"]
        ids = self.ask("template.get", filter={"host": template})
        return self.ask(
            "host.create", host=name, groups=[{"groupid": group}],
            templates=[{"templateid": ids[0]["templateid"]}], **more,
        )["hostids"][0]  # fmt: skip

    def problems(self, host):
        """Those that are open, newest first, with their tags by name."""
        rows = self.ask(
            "problem.get", hostids=host, selectTags="extend", sortfield="eventid", sortorder="DESC"
        )
        return [row | {"tags": {tag["tag"]: tag["value"] for tag in row["tags"]}} for row in rows]

    def items(self, host, key):
        """By key, those whose key begins so."""
        rows = self.ask("item.get", hostids=host, search={"key_": key}, startSearch=True)
        return {row["key_"]: row for row in rows}

    def history(self, itemid, kind=4):
        """Values, newest first; 4 is text, 0 a number."""
        return self.ask("history.get", itemids=itemid, history=kind, sortfield="clock", sortorder="DESC")


@contextmanager
def process(*argv, log, **env):
    """Runs as long as the block does, and writes to `log`."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    with log.open("ab") as out:
        running = subprocess.Popen(
            ["nice", "-n", "15", *argv], stdout=out, stderr=out, env=os.environ | env | {"PATH": path}
        )
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(60)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()


def _run(*argv, **more):
    path = f"{os.environ['PATH']}:/usr/sbin"
    done = subprocess.run(
        ["nice", "-n", "15", *argv],
        check=False,
        capture_output=True,
        env=os.environ | {"PATH": path},
        timeout=280,
        **more,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return done.stdout


def _database(folder, stack):
    data, socket_file = folder / "db", folder / "db.sock"
    _run(
        "mariadb-install-db", "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db",
        "--auth-root-authentication-method=normal", "--skip-name-resolve",
    )  # fmt: skip
    stack.enter_context(process(
        "mariadbd", "--no-defaults", "--user=root", f"--datadir={data}", f"--socket={socket_file}", "--skip-networking",
        "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--sync-binlog=0",
        "--innodb-flush-method=nosync", "--performance-schema=OFF", f"--pid-file={folder}/db.pid",
        log=folder / "db.log",
    ))  # fmt: skip
    until(socket_file.exists)
    client = ("mariadb", "--no-defaults", f"--socket={socket_file}", "-uroot")
    until(
        lambda: subprocess.run([*client, "-e", "select 1"], capture_output=True, check=False).returncode == 0
    )
    _run(*client, "-e", "create database zabbix character set utf8mb4 collate utf8mb4_bin")
    _run(*client, "zabbix", input=gzip.decompress((SCHEMA / "schema.sql.gz").read_bytes()))
    rows = gzip.decompress((SCHEMA / "data.sql.gz").read_bytes()).decode().split("\nINSERT INTO ")
    kept = [f"INSERT INTO {row}" for row in rows[1:] if re.match(rf"`({TABLES})`", row)]
    text = "SET FOREIGN_KEY_CHECKS=0;\n" + "\n".join(kept).replace("\nCOMMIT;", "") + "\n"
    _run(*client, "zabbix", input=text.encode())


@contextmanager
def zabbix(folder, tls):
    """A Site; `tls(folder)` puts ca.crt, server.crt and server.key in folder/tls."""
    site = Site(free_port(), free_port(), folder)
    with ExitStack() as stack:
        tls(folder)
        _database(folder, stack)
        (folder / "server.conf").write_text(_SERVER_CONF.format(folder=folder, port=site.port))
        stack.enter_context(site.server)
        site.start()
        pages = folder / "web"
        shutil.copytree(FRONTEND, pages, symlinks=True)
        (folder / "zabbix.conf.php").write_text(_WEB_CONF % site.port)
        named = pages / "include/classes/core/CConfigFile.php"
        named.write_text(
            named.read_text().replace("/etc/zabbix/zabbix.conf.php", f"{folder}/zabbix.conf.php")
        )
        stack.enter_context(process(
            "php", "-d", f"mysqli.default_socket={folder}/db.sock", "-d", "memory_limit=512M",
            "-d", "max_execution_time=300", "-S", f"127.0.0.1:{site.web}", "-t", str(pages), log=folder / "web.log",
        ))  # fmt: skip
        until(lambda: listens(site.web))
        site.token = site.ask("user.login", user="Admin", password="zabbix")
        yield site
