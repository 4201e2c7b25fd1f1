"""llmpedia/engines/node_types.py: node types as Ray's GCS, the autoscaler's file and KubeRay's
RayCluster give them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ray.core.generated import autoscaler_pb2

from llmpedia.engines import node_types
from llmpedia.engines.node_types import NodeType, config_file, configured_types, read_on_head, reported_types
from tests.support.harness import ENV

ROOT = Path(__file__).parents[2]
H100 = {"CPU": 8, "GPU": 8, "accelerator_type:H100": 1}


def test_types_that_the_gcs_was_told_of():
    """``max_count``: -1 is no limit; 0 is a type that is not to be used."""
    config = autoscaler_pb2.ClusterConfig()
    for name, most in (("few", 2), ("many", -1), ("off", 0)):
        config.node_group_configs.add(name=name, resources=H100, max_count=most)
    assert reported_types(config) == [NodeType("few", H100, 2), NodeType("many", H100, None)]


@pytest.mark.parametrize(
    "config", [None, autoscaler_pb2.ClusterConfig()], ids=["nothing", "an empty message"]
)
def test_where_nobody_told_the_gcs_it_knows_none(config):
    assert reported_types(config) is None


def test_types_of_the_shipped_cluster_file():
    """The head is there already; everything else may be added."""
    found = {t.name: t for t in configured_types(yaml.safe_load((ROOT / "ray_cluster.yaml").read_text()))}
    assert set(found) == {"cpu", "p4de_spot", "p4de", "p5_spot", "p5"}
    assert found["p5"] == NodeType("p5", H100, 2)


def test_a_type_without_a_limit_of_its_own_has_the_clusters():
    types = {
        "head": {"resources": {}},
        "a": {"resources": H100},
        "off": {"resources": H100, "max_workers": 0},
    }
    config = {"head_node_type": "head", "available_node_types": types}
    assert configured_types({**config, "max_workers": 7}) == [NodeType("a", H100, 7)]
    assert configured_types(config) == [NodeType("a", H100, None)]


def monitor(file, address) -> subprocess.Popen:
    """A process that looks like the autoscaler of a cluster."""
    words = [f"--gcs-address={address}", *([f"--autoscaling-config={file}"] if file else [])]
    return subprocess.Popen([sys.executable, "-c", "input()", *words], stdin=subprocess.PIPE)


def test_the_file_of_this_cluster_is_found_among_others(tmp_path):
    mine = tmp_path / "mine.yaml"
    other = tmp_path / "other.yaml"
    started = [
        monitor(other, "10.0.0.1:7001"),
        monitor(None, "10.0.0.1:7002"),
        monitor(mine, "10.0.0.1:7003"),
    ]
    try:
        assert config_file("127.0.0.1:7003") == mine
        assert config_file("127.0.0.1:7002") is None
        mine.write_text(
            json.dumps(
                {"head_node_type": "h", "available_node_types": {"a": {"resources": H100, "max_workers": 1}}}
            )
        )
        assert read_on_head("127.0.0.1:7003") == [NodeType("a", H100, 1)]
    finally:
        for process in started:
            process.communicate(b"\n")


def test_the_ray_cluster_of_the_shipped_manifest(monkeypatch, tmp_path):
    """As the API server answers: the cluster inside of the RayJob, with the names that the operator
    gives it.
    """
    job = next(yaml.safe_load_all((ROOT / "deploy/kuberay/rayjob.yaml").read_text()))
    cluster = {
        "metadata": {"name": "llama-70b-x", "namespace": "runs"},
        "spec": job["spec"]["rayClusterSpec"],
    }
    asked = []

    class Client:
        def __init__(self, namespace):
            asked.append(namespace)

        def get(self, path):
            asked.append(path)
            return cluster

    monkeypatch.setattr("ray.autoscaler._private.kuberay.node_provider.KubernetesHttpApiClient", Client)
    monkeypatch.setattr(node_types, "_NAMESPACE", tmp_path / "namespace")
    (tmp_path / "namespace").write_text("runs\n")
    monkeypatch.setenv("RAY_CLUSTER_NAME", "llama-70b-x")
    found = {t.name: t for t in read_on_head("10.0.0.1:6379")}
    assert asked == ["runs", "rayclusters/llama-70b-x"]
    assert set(found) == {"cpu", "p4de-spot", "p4de", "p5-spot", "p5"}
    assert found["p5"].resources.items() >= H100.items()
    assert found["p5"].most == 2


def test_a_head_without_an_autoscaler_says_so(monkeypatch):
    monkeypatch.delenv("RAY_CLUSTER_NAME", raising=False)
    assert "without --autoscaling-config" in read_on_head("127.0.0.1:1")


@pytest.mark.real
def test_on_a_cluster_that_does_not_grow_they_are_unknown_and_that_is_said(head):
    program = f"""
import ray
from llmpedia.engines.node_types import offered_types
ray.init({head.address!r}, log_to_driver=False, logging_level="ERROR")
print(offered_types())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=ENV, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.splitlines()[-1] == "None"
    assert (
        "ray.autoscaling = true: node types cannot be read (the head was started without --autoscaling-config"
        in done.stderr
    )
