"""The deploy folder against what the program really has: metrics, settings, addresses, and scripts that run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from gateway import metrics
from gateway.http import build_app
from gateway.ledger.records import Depths
from gateway.slow import Watch

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PACKAGES = ("channels", "routes", "agents_runtime", "builder_skill", "gateway")


def documents(path: Path) -> list[Any]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def exposed() -> set[str]:
    page = metrics.exposition(Depths(0, 0, 0, 0)).decode()
    families = set(re.findall(r"^# TYPE (\w+) ", page, re.MULTILINE))
    return families | {f"{family}_bucket" for family in families if "seconds" in family}


def told() -> dict[str, str]:
    rules = [
        rule["expr"] for group in documents(DEPLOY / "monitoring/alerts.yaml")[0]["groups"] for rule in group["rules"]
    ]
    dashboard = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())
    panels = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return {expression: name for expression in rules + panels for name in re.findall(r"postroom_\w+", expression)}


@pytest.mark.parametrize("expression", told())
def test_rules_and_dashboard_ask_for_metrics_that_there_are(expression: str) -> None:
    assert set(re.findall(r"postroom_\w+", expression)) <= exposed()


def test_every_alert_says_what_to_do() -> None:
    (alerts,) = documents(DEPLOY / "monitoring/alerts.yaml")
    for rule in alerts["groups"][0]["rules"]:
        assert rule["annotations"]["fix"]
        assert rule["labels"]["severity"] in {"page", "ticket"}


def test_settings_that_are_named_exist() -> None:
    code = "".join(path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            # names that compose and its proxy give to each other
            own = {"POSTROOM_DOMAIN", "POSTROOM_DB_PASSWORD"}
            for name in set(re.findall(r"POSTROOM_[A-Z_]+", path.read_text())) - own:
                assert f'"{name}"' in code, f"{path.name}: {name}"


def test_nothing_runs_as_root_and_nothing_has_a_password_of_its_own() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER 10001:10001"]
    (compose,) = documents(DEPLOY / "compose/compose.yaml")
    for name in ("gateway-1", "gateway-2"):
        assert compose["services"][name]["cap_drop"] == ["ALL"]
        assert compose["services"][name]["read_only"] is True
    for service in compose["services"].values():
        for variable, value in service.get("environment", {}).items():
            if any(word in variable for word in ("PASSWORD", "KEY", "DATABASE_URL")):
                assert "${" in value
    assert [service for service, of in compose["services"].items() if "ports" in of] == ["proxy"]
    deployment = documents(DEPLOY / "kubernetes/postroom.yaml")[0]["spec"]["template"]["spec"]
    assert deployment["securityContext"]["runAsNonRoot"] is True
    for line in (DEPLOY / "compose/.env.example").read_text().splitlines():
        assert line.startswith("#") or line.endswith("=")


def test_what_is_probed_and_opened_is_served() -> None:
    app = build_app(web.Request, None, lambda: True, Watch())  # type: ignore[arg-type]
    served = {resource.canonical.split("/")[1] for resource in app.router.resources()} | {"media", "console"}
    kinds = {each["kind"]: each for each in documents(DEPLOY / "kubernetes/postroom.yaml")}
    container = kinds["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    probed = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness", "liveness")]
    opened = [path["path"] for path in kinds["Ingress"]["spec"]["rules"][0]["http"]["paths"]]
    asked = re.findall(r"127\.0\.0\.1:8080(/\w+)", (DEPLOY / "Containerfile").read_text())
    asked += re.findall(r"health_uri (/\w+)", (DEPLOY / "compose/Caddyfile").read_text())
    for path in [*probed, *opened, *asked]:
        assert path.split("/")[1] in served, path


def test_whoever_stops_a_gateway_gives_it_time_to_drain() -> None:
    from gateway.process import DRAIN_PATIENCE

    (compose,) = documents(DEPLOY / "compose/compose.yaml")
    given = [int(compose["services"]["gateway-1"]["stop_grace_period"].rstrip("s"))]
    given.append(
        documents(DEPLOY / "kubernetes/postroom.yaml")[0]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    )
    unit = (DEPLOY / "systemd/postroom.service").read_text()
    given += [int(seconds) for seconds in re.findall(r"TimeoutStopSec=(\d+)", unit)]
    assert len(given) == 3
    assert min(given) > DRAIN_PATIENCE + 10


def test_the_backup_script_keeps_what_came_back_and_no_more_than_asked(tmp_path: Path) -> None:
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "POSTROOM_HOME": str(tmp_path / "home"),
        "BACKUPS": str(tmp_path / "backups"),
        "KEEP": "1",
    }
    subprocess.run(["postroom", "connection", "list"], env=env, check=True, capture_output=True, timeout=60)
    (tmp_path / "backups").mkdir()
    old = tmp_path / "backups/postroom-20200101T000000Z.tar.gz"
    old.write_bytes(b"old")
    os.utime(old, (1, 1))
    subprocess.run([DEPLOY / "backup/backup.sh"], env=env, check=True, capture_output=True, timeout=60)
    (kept,) = (tmp_path / "backups").iterdir()
    damaged = bytearray(kept.read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    kept.write_bytes(damaged)
    drill = subprocess.run([DEPLOY / "backup/drill.sh", kept], env=env, capture_output=True, timeout=60)
    assert drill.returncode != 0
