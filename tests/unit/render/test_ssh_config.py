from __future__ import annotations

import subprocess
from pathlib import Path

from support.jobs import a_node
from trainrig.render.ssh_config import known_hosts, ssh_config


def test_openssh_reads_it_and_never_trusts_an_unknown_host(tmp_path: Path) -> None:
    config = tmp_path / "with space" / "ssh_config"
    config.parent.mkdir()
    node = a_node(1, ssh_port=40022)
    config.write_text(
        ssh_config([node], key=tmp_path / "id", known_hosts=tmp_path / "known_hosts", control_dir=Path("/tmp/c"))
    )
    out = subprocess.run(["ssh", "-G", "-F", config, node.name], capture_output=True, text=True, check=True).stdout
    options = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
    assert (options["hostname"], options["port"], options["user"]) == ("203.0.113.2", "40022", "root")
    assert options["stricthostkeychecking"] in {"yes", "true"}
    assert options["userknownhostsfile"] == str(tmp_path / "known_hosts")
    assert options["hostkeyalias"] == node.name


def test_only_known_host_keys_are_listed() -> None:
    assert known_hosts([a_node(0), a_node(1, host_key=None)]) == "tr-hello-0 ssh-ed25519 AAAA0\n"
