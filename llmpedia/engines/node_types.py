"""The node types that an autoscaling cluster offers, read where its autoscaler reads them.

Ray's GCS holds them only where somebody reports them, which the autoscalers of ``ray up`` and
KubeRay do not. Those read a file on the head (``ray start --autoscaling-config``) or the RayCluster
on Kubernetes; so does a task that is sent to the head.
"""

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml

_HEAD = "node:__internal_head__"
_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_ANSWER_S = 60.0


@dataclass(frozen=True)
class NodeType:
    """``most``: nodes of this type at once; null: as many as are asked for."""

    name: str
    resources: Mapping[str, float]
    most: int | None


def offered_types() -> list[NodeType] | None:
    """Node types that the cluster may add; null, and a warning, where they cannot be read."""
    import ray
    from ray._private.state import state

    reported = reported_types(state.get_cluster_config())
    if reported is not None:
        return reported
    read = ray.remote(num_cpus=0, resources={_HEAD: 0.001})(read_on_head)
    try:
        types: list[NodeType] | str = ray.get(
            read.remote(ray.get_runtime_context().gcs_address), timeout=_ANSWER_S
        )
    except (
        Exception
    ) as e:  # the head cannot run it, or cannot read what it found: either way the types are unknown
        types = f"{type(e).__name__}: {str(e).strip().splitlines()[-1] if str(e).strip() else ''}"
    if isinstance(types, str):
        words = (
            "ray.autoscaling = true: node types cannot be read (%s), so GPUs are waited for "
            "whether offered or not"
        )
        logging.getLogger(__name__).warning(words, types)
        return None
    return types


def reported_types(config: Any) -> list[NodeType] | None:
    """Of Ray's ``ClusterConfig`` message; null where nobody reported one."""
    if config is None or not config.node_group_configs:
        return None
    groups = config.node_group_configs
    return [
        NodeType(g.name, dict(g.resources), None if g.max_count < 0 else g.max_count)
        for g in groups
        if g.max_count
    ]


def read_on_head(gcs_address: str) -> list[NodeType] | str:
    """On the head: the node types, or why they cannot be known."""
    file = config_file(gcs_address)
    if file is not None:
        return configured_types(yaml.safe_load(file.read_text()))
    cluster = os.environ.get("RAY_CLUSTER_NAME")  # set by KubeRay in its pods
    if cluster and _NAMESPACE.exists():
        return configured_types(_ray_cluster(cluster, _NAMESPACE.read_text().strip()))
    return "the head was started without --autoscaling-config and not by KubeRay"


def config_file(gcs_address: str) -> Path | None:
    """What the autoscaler of this cluster was started with; there may be other clusters on the
    machine.
    """
    port = gcs_address.rsplit(":", 1)[-1]
    for process in psutil.process_iter(["cmdline"]):
        words = dict(
            word.split("=", 1)
            for word in process.info["cmdline"] or ()
            if word.startswith("--") and "=" in word
        )
        if "--autoscaling-config" in words and words.get("--gcs-address", "").rsplit(":", 1)[-1] == port:
            return Path(words["--autoscaling-config"]).expanduser()
    return None


def configured_types(config: dict[str, Any]) -> list[NodeType]:
    """Of an autoscaler's configuration: those that it may start."""
    types = []
    for name, settings in config["available_node_types"].items():
        unset = 0 if name == config["head_node_type"] else config.get("max_workers")
        most = settings.get("max_workers", unset)
        if most != 0:
            types.append(NodeType(name, dict(settings["resources"]), most))
    return types


def _ray_cluster(name: str, namespace: str) -> dict[str, Any]:
    """What KubeRay's autoscaler makes of the RayCluster. The head's pods share its account, which
    may read it.
    """
    from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
    from ray.autoscaler._private.kuberay.node_provider import KubernetesHttpApiClient

    cluster: dict[str, Any] = _derive_autoscaling_config_from_ray_cr(
        KubernetesHttpApiClient(namespace).get(f"rayclusters/{name}")
    )
    return cluster
