"""What `deploy/` has for many machines: the tools that would read it take it, and Doorward serves with what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml
from doorward_testing import reserve_port

from .peer import absent, answers, program, running

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy/chart"
URL = "https://mcp.example.com/mcp"
ALL_OF_IT = [
    "url=" + URL,
    "ingress.enabled=true",
    "ingress.tlsSecret=tls",
    "labels.team=doors",
    "pullSecrets[0].name=p",
]
AS_LITTLE = ["url=" + URL, "autoscaling.enabled=false", "sticky=false", "image.tag=1"]


def helm(*words: str, ok: bool = True) -> str:
    ended = subprocess.run(
        [program("helm", Path(sys.executable).parent), *words], capture_output=True, text=True, check=False
    )
    assert (ended.returncode == 0) is ok, ended.stderr
    return ended.stdout if ok else ended.stderr


def rendered(values: list[str]) -> dict[str, Any]:
    """What the chart makes, by its kind."""
    text = helm("template", "doors", str(CHART), *(f"--set={value}" for value in values))
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


@pytest.mark.parametrize("values", [ALL_OF_IT, AS_LITTLE])
def test_the_chart_is_what_kubernetes_takes(values: list[str]) -> None:
    """Each object fits the schemas of an older and of the newest version; and nothing has more rights than it needs."""
    try:
        import kubernetes_validate
    except ImportError:
        absent("kubernetes-validate")
    helm("lint", "--strict", str(CHART), *(f"--set={value}" for value in values))
    made = rendered(values)
    for each in made.values():
        for version in ("1.30", kubernetes_validate.latest_version()):
            kubernetes_validate.validate(each, version, strict=True)
    assert made.keys() - {"HorizontalPodAutoscaler", "Ingress"} == {
        "ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"
    }  # fmt: skip
    pod = made["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False
    assert pod["securityContext"].items() >= {"runAsNonRoot": True, "runAsUser": 10001}.items()
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}
    }  # fmt: skip
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    assert made["Service"]["spec"]["selector"].items() <= labels
    assert made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"].items() <= labels
    assert made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= labels


def test_the_chart_asks_for_the_address() -> None:
    assert "url: what clients call it" in helm("template", "doors", str(CHART), ok=False)


def test_it_serves_as_in_a_replica(tmp_path: Path, postgres: str) -> None:
    """With the variables, the arguments and the configuration of the chart, which it cannot write, and its secrets."""
    made = rendered(AS_LITTLE)
    (container,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"]}
    file = tmp_path / "doorward.toml"
    token = '\n[principals.alice]\ntokens = [{id = "a1", hash = "sha256:' + "0" * 64 + '"}]\n'
    file.write_text(made["ConfigMap"]["data"]["doorward.toml"] + token)
    file.chmod(0o444)
    (tmp_path / "state").mkdir()
    environ = given | {
        "DOORWARD_CONFIG": str(file),
        "DOORWARD_STATE_DIR": str(tmp_path / "state"),
        "DOORWARD_STORES__POSTGRES__SCHEMA_NAME": "deployed",
        "VAULT_KEY": "a key of at least thirty-two characters",
        "POSTGRES_URL": postgres,
    }
    port = reserve_port()
    command = [sys.executable, "-I", "-m", "doorward", *container["args"], "--port", str(port)]
    base = f"http://127.0.0.1:{port}"
    with running(command, tmp_path, answers(f"{base}/healthz"), **environ):
        while httpx2.get(f"{base}/readyz").status_code != 200:
            time.sleep(0.1)
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            path = container[probe]["httpGet"]["path"]
            assert httpx2.get(f"{base}{path}", headers={"Host": "10.0.0.7:8000"}).status_code == 200
        assert httpx2.post(f"{base}/mcp", json={}, headers={"Host": "mcp.example.com"}).status_code == 401
    assert file.read_text().endswith(token)


def test_compose_takes_the_replicas() -> None:
    """It asks for what must be given, and nobody but the gateways reaches the database."""
    composing = [program("docker-compose"), "--file", str(ROOT / "deploy/compose.replicas.yaml"), "config"]
    environ = {"PATH": os.environ["PATH"], "POSTGRES_PASSWORD": "p", "VAULT_KEY": "k"}
    asked = subprocess.run(composing, env=environ, capture_output=True, text=True, check=False)
    assert (asked.returncode, "is what clients call it" in asked.stderr) == (1, True)
    environ["DOORWARD_HTTP__URL"] = URL
    made = yaml.safe_load(subprocess.run(composing, env=environ, capture_output=True, text=True, check=True).stdout)
    assert made["services"]["gateway"]["deploy"]["replicas"] == 3
    assert made["networks"]["inside"]["internal"] is True
    assert made["services"]["balancer"]["networks"].keys() == {"outside"}


def test_nginx_takes_the_balancer(tmp_path: Path) -> None:
    nginx = program("nginx")
    file = tmp_path / "nginx.conf"
    file.write_text((ROOT / "deploy/nginx.conf").read_text().replace("/tmp/", f"{tmp_path}/"))
    ended = subprocess.run(
        [nginx, "-t", "-p", str(tmp_path), "-c", str(file)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """And says that it is exposed little (1.7 of 10; 9.6 is usual)."""
    systemd = program("systemd-analyze")
    unit = tmp_path / "doorward.service"
    unit.write_text(
        (ROOT / "deploy/doorward.service").read_text().replace("/opt/doorward/bin/doorward", sys.executable)
    )
    checked = subprocess.run([systemd, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    exposed = [systemd, "security", "--offline=true", "--threshold=20", str(unit)]
    assert subprocess.run(exposed, capture_output=True, text=True, check=False).returncode == 0
