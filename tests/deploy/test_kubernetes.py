"""The manifests for Kubernetes: what they promise and name. `make deploy-check` compares them with
the schemas of Kubernetes.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from daemon import __version__
from daemon.settings import KEY_FILES, Settings, key_file_name
from tests.deploy.dockerfile import stages
from tests.house.packages import ROOT

FOLDER = ROOT / "docs" / "deploy" / "kubernetes"
GUIDE = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
KINDS = {"sqlite": "StatefulSet", "postgresql": "Deployment"}
(USER,) = (int(one.text.split(":")[0]) for one in stages()[-1] if one.name == "USER")


def manifests(flavour: str) -> dict[str, dict[str, Any]]:
    """The documents of a folder by their kind."""
    files = sorted((FOLDER / flavour).glob("*.yaml"))
    documents = [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    found = {one["kind"]: one for one in documents}
    assert len(found) == len(documents)
    return found


@pytest.fixture(params=KINDS)
def flavour(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def workload(flavour: str) -> dict[str, Any]:
    found: dict[str, Any] = manifests(flavour)[KINDS[flavour]]["spec"]
    return found


@pytest.fixture
def pod(workload: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = workload["template"]["spec"]
    return found


@pytest.fixture
def container(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = pod["containers"]
    return dict(found)


def variables(flavour: str, container: dict[str, Any]) -> dict[str, str]:
    """All variables of the container: of the ConfigMap, and its own."""
    (source,) = container["envFrom"]
    settings = manifests(flavour)["ConfigMap"]
    assert source["configMapRef"]["name"] == settings["metadata"]["name"]
    return {**settings["data"], **{one["name"]: one["value"] for one in container["env"]}}


def test_sqlite_has_one_replica_with_a_volume_and_postgresql_three_with_a_budget() -> None:
    one, three = manifests("sqlite"), manifests("postgresql")
    alone, together = one["StatefulSet"]["spec"], three["Deployment"]["spec"]
    (claim,) = alone["volumeClaimTemplates"]
    assert (alone["replicas"], claim["spec"]["accessModes"]) == (1, ["ReadWriteOncePod"])
    assert together["replicas"] == 3
    assert three["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    assert "PodDisruptionBudget" not in one


def test_all_selectors_mean_the_pods_of_the_workload(flavour: str, workload: dict[str, Any]) -> None:
    labels = workload["template"]["metadata"]["labels"]
    found = manifests(flavour)
    assert workload["selector"]["matchLabels"] == found["Service"]["spec"]["selector"] == labels
    if "PodDisruptionBudget" in found:
        assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels


def test_daemons_of_two_versions_never_serve_one_database() -> None:
    assert manifests("postgresql")["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}


def test_the_pods_reach_no_private_address_but_their_name_server_and_database(flavour: str) -> None:
    policy = manifests(flavour)["NetworkPolicy"]["spec"]
    assert policy["podSelector"] == {"matchLabels": manifests(flavour)["Service"]["spec"]["selector"]}
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    (door,) = policy["ingress"]
    assert [one["port"] for one in door["ports"]] == ["http"]
    ports = {one["port"] for rule in policy["egress"] if "to" not in rule for one in rule["ports"]}
    assert ports == ({53, 5432} if flavour == "postgresql" else {53})
    (outside,) = (rule["to"] for rule in policy["egress"] if "to" in rule)
    closed = {net for one in outside for net in one["ipBlock"]["except"]}
    assert closed >= {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10"}


def test_the_pod_has_no_rights(pod: dict[str, Any], container: dict[str, Any]) -> None:
    inside, outside = container["securityContext"], pod["securityContext"]
    assert inside == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert (outside["runAsNonRoot"], outside["runAsUser"], outside["runAsGroup"]) == (True, USER, USER)
    assert (outside["fsGroup"], outside["seccompProfile"]) == (USER, {"type": "RuntimeDefault"})
    assert pod["automountServiceAccountToken"] is False
    assert "limits" in container["resources"]


def test_the_service_of_its_name_sets_no_setting(flavour: str, pod: dict[str, Any]) -> None:
    """Kubernetes would set PENSTOCK_PORT to a URL, for a Service that is called penstock."""
    assert manifests(flavour)["Service"]["metadata"]["name"] == "penstock"
    assert pod["enableServiceLinks"] is False


def test_every_probe_asks_for_the_health_at_the_port_of_the_image(container: dict[str, Any]) -> None:
    (port,) = container["ports"]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[name]["httpGet"] == {"path": "/health", "port": port["name"]}
    (exposed,) = (one.text for one in stages()[-1] if one.name == "EXPOSE")
    assert port["containerPort"] == int(exposed)
    patience = container["livenessProbe"]["periodSeconds"] * container["livenessProbe"]["failureThreshold"]
    assert patience >= 300


def test_every_variable_is_a_setting_with_a_value_that_it_takes(flavour: str, container: dict[str, Any]) -> None:
    given = {name.removeprefix("PENSTOCK_").lower(): value for name, value in variables(flavour, container).items()}
    assert set(given) <= set(Settings.model_fields)
    settings = Settings.model_validate(given)
    assert (settings.database_url is not None) is (flavour == "postgresql")


def test_every_secret_is_a_file_of_a_secret_that_the_guide_makes(
    flavour: str, pod: dict[str, Any], container: dict[str, Any]
) -> None:
    given, mounts = variables(flavour, container), {one["mountPath"]: one for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    files = {f"PENSTOCK_{name.upper()}": key_file_name(name) for name in KEY_FILES.values()}
    files |= {"PENSTOCK_DATABASE_PASSWORD_FILE": "password"} if flavour == "postgresql" else {}
    for variable, name in files.items():
        path = Path(given[variable])
        mount = mounts[str(path.parent)]
        assert (path.name, mount["readOnly"]) == (name, True)
        secret = volumes[mount["name"]]["secret"]
        assert secret["defaultMode"] == 0o440
        assert f"kubectl create secret generic {secret['secretName']} " in GUIDE
    assert {one["secret"]["secretName"] for one in volumes.values() if "secret" in one} == {
        volumes[mounts[str(Path(given[variable]).parent)]["name"]]["secret"]["secretName"] for variable in files
    }


def test_every_mount_has_its_volume_and_the_data_have_a_folder_of_their_own(
    flavour: str, workload: dict[str, Any], pod: dict[str, Any], container: dict[str, Any]
) -> None:
    there = {one["name"] for one in pod["volumes"]}
    there |= {one["metadata"]["name"] for one in workload.get("volumeClaimTemplates", ())}
    assert {one["name"] for one in container["volumeMounts"]} == there
    folder = Path(variables(flavour, container)["PENSTOCK_DATA_DIR"])
    writable = {one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")}
    # The root of a volume may be writable for everybody, and such a folder the service refuses.
    assert writable == {str(folder.parent), "/tmp"}  # noqa: S108 - a mount of the container


def test_kustomize_makes_all_of_each_folder(flavour: str, capfd: pytest.CaptureFixture[str]) -> None:
    names = {file.name for file in (FOLDER / flavour).glob("*.yaml")}
    kustomization = manifests(flavour)["Kustomization"]
    assert {*kustomization["resources"], "kustomization.yaml"} == names
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        with capfd.disabled():
            print("\nThere is no kubectl here: the manifests are not put together", file=sys.stderr)
        return
    made = subprocess.run((kubectl, "kustomize", FOLDER / flavour), capture_output=True, text=True, check=True)
    documents = list(yaml.safe_load_all(made.stdout))
    assert {one["kind"] for one in documents} == manifests(flavour).keys() - {"Kustomization"}
    assert f"image: penstock:{kustomization['images'][0]['newTag']}" in made.stdout
    assert kustomization["images"][0]["newTag"] == __version__
