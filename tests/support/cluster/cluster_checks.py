"""Offline checks of ray_cluster.yaml: what is wrong with it in one line each; no network, no keys,
no cluster.

Ray's own code reads the file as ``ray up`` would, botocore's model of RunInstances reads the
node_config that Ray hands on unread, and the rest are rules of this project. :func:`scale_up` asks
Ray's own scheduler what an engine would have started; it takes what deploy/kuberay is translated to
as well (``kuberay_checks``).
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import yaml
from botocore.validate import ParamValidator
from jsonschema import ValidationError
from ray.autoscaler._private.util import prepare_config, validate_config
from ray.autoscaler.v2.instance_manager.config import AutoscalingConfig
from ray.autoscaler.v2.scheduler import ResourceDemandScheduler, SchedulingRequest
from ray.autoscaler.v2.utils import ResourceRequestUtil
from ray.core.generated.autoscaler_pb2 import GangResourceRequest

from llmpedia.config.engine import EngineSection
from llmpedia.config.walk import load_config
from llmpedia.engines.vllm_serve import bundles, placement

ROOT = Path(__file__).parents[3]
LAUNCHER = ROOT / "ray_cluster.yaml"
LLAMA = ROOT / "configs/llama-70b-4xa100.yaml"
DEEPSEEK = ROOT / "configs/deepseek-v3-16xh100.yaml"

# AWS's own numbers of an instance type: CPUs, GPUs, and what Ray calls one of its GPUs.
INSTANCES = {"m7i.4xlarge": (16, 0, None), "p4de.24xlarge": (96, 8, "A100"), "p5.48xlarge": (192, 8, "H100")}

# Ray's schema lets anything pass here. Of those that its AWS provider reads, the ones this project
# uses.
PROVIDER = {"type", "region", "availability_zone", "cache_stopped_nodes"}

SECRETS = {
    "an AWS key": r"\b(AKIA|ASIA)[A-Z0-9]{16}\b",
    "an account id": r"\b\d{12}\b",
    "a fixed image id": r"\bami-[0-9a-f]{8,}\b",
    "a token": r"\bhf_\w{16,}|\b[0-9a-f]{32,}\b",
}

Mapping = dict[str, Any]


def read_yaml(path: Path) -> Mapping:
    """A file of one document, with nothing shared between its parts: an alias in YAML is one object
    in Python.
    """
    return json.loads(_as_json(path))


@cache
def _as_json(path: Path) -> str:
    return json.dumps(yaml.safe_load(path.read_text()))


@cache
def engine_of(path: Path) -> EngineSection:
    return load_config(path).engine


def accelerator_of(resources: Mapping) -> str | None:
    kinds = [name.split(":", 1)[1] for name in resources if name.startswith("accelerator_type:")]
    return ", ".join(kinds) or None


def version_of_ray() -> str:
    (version,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    return version


def secrets_in(config: Mapping) -> Iterator[str]:
    text = json.dumps(config)
    for what, pattern in SECRETS.items():
        if found := re.search(pattern, text):
            yield f"holds {what}: {found.group()[:12]}..."


def launcher_problems(config: Mapping) -> list[str]:
    """What is wrong with a cluster launcher file."""
    return [*_ray_refuses(config)] or [
        *_provider(config),
        *(f"{name}: {said}" for name, kind in config["available_node_types"].items() for said in _node(kind)),
        *_head(config),
        *(
            f"{name}: {said}"
            for name, kind in _workers(config).items()
            for said in _worker(config, name, kind)
        ),
        *_start_commands(config),
        *_image(config),
        *misplaced(config),
        *secrets_in(config),
    ]


def _ray_refuses(config: Mapping) -> Iterator[str]:
    try:
        validate_config(prepare_config(copy.deepcopy(config)))
    except ValidationError as e:
        yield f"ray: {'/'.join(map(str, e.absolute_path))}: {e.message.splitlines()[0][:200]}"
    except (ValueError, AssertionError, KeyError, TypeError) as e:
        yield f"ray: {type(e).__name__}: {str(e).splitlines()[0]}"
    else:  # Ray's autoscaler ends at this one, without a word
        for name, kind in config["available_node_types"].items():
            if kind.get("min_workers", 0) > kind.get("max_workers", config["max_workers"]):
                yield f"{name}: min_workers: {kind['min_workers']}: is over max_workers"


def _workers(config: Mapping) -> dict[str, Mapping]:
    return {
        name: kind
        for name, kind in config["available_node_types"].items()
        if name != config["head_node_type"]
    }


def _provider(config: Mapping) -> Iterator[str]:
    for key in sorted(set(config["provider"]) - PROVIDER):
        yield f"provider.{key}: is not read by Ray's AWS provider, or not used here"
    if "," in config["provider"].get("availability_zone", ","):
        yield "provider.availability_zone: must be one zone; a replica over two nodes talks all the time"


def _node(kind: Mapping) -> Iterator[str]:
    yield from refused_by_aws(kind["node_config"])
    instance = kind["node_config"].get("InstanceType")
    if instance not in INSTANCES:
        yield f"InstanceType: {instance}: not in INSTANCES of tests/support/cluster/cluster_checks.py"
        return
    yield from miscounted(instance, kind["resources"])
    if "Name" not in kind["node_config"].get("IamInstanceProfile", {}):
        yield "IamInstanceProfile: no name; without a profile a node cannot reach the run folder"


def miscounted(instance: str, resources: Mapping) -> Iterator[str]:
    """Where the resources of a node are not those of its instance type."""
    cpus, gpus, accelerator = INSTANCES[instance]
    if resources.get("GPU") != gpus:
        yield f"GPU: {resources.get('GPU')}: {instance} has {gpus}"
    if not 0 < resources.get("CPU", 0) <= cpus:
        yield f"CPU: {resources.get('CPU')}: {instance} has {cpus}"
    if accelerator_of(resources) != accelerator:
        yield f"accelerator_type: {accelerator_of(resources)}: {instance} has {accelerator}"


@cache
def _run_instances() -> Any:
    return botocore.session.get_session().get_service_model("ec2").operation_model("RunInstances").input_shape


def refused_by_aws(node_config: Mapping) -> list[str]:
    """What RunInstances would not understand: names, types, and words that are none of an
    enumeration's.
    """
    shape = _run_instances()
    report = ParamValidator().validate({"MinCount": 1, "MaxCount": 1, **node_config}, shape)
    said = report.generate_report().splitlines() if report.has_errors() else []
    return said or [*_wrong_words(shape, node_config, "node_config")]


def _wrong_words(shape: Any, value: Any, path: str) -> Iterator[str]:
    """Enumerations, which botocore describes and does not check."""
    if shape.type_name == "structure":
        for key, inner in value.items():
            yield from _wrong_words(shape.members[key], inner, f"{path}.{key}")
    elif shape.type_name == "list":
        for inner in value:
            yield from _wrong_words(shape.member, inner, path)
    elif getattr(shape, "enum", None) and value not in shape.enum:
        yield f"{path}: {value}: AWS knows no such {shape.name}"


def _is_spot(kind: Mapping) -> bool:
    return kind["node_config"].get("InstanceMarketOptions", {}).get("MarketType") == "spot"


def _head(config: Mapping) -> Iterator[str]:
    head = config["available_node_types"][config["head_node_type"]]
    if _is_spot(head):
        yield "head: on spot; the driver is there, and its loss ends the job"
    if head["resources"].get("GPU") != 0:
        yield "head: must say GPU: 0"


def _worker(config: Mapping, name: str, kind: Mapping) -> Iterator[str]:
    if kind.get("min_workers") != 0:
        yield (
            f"min_workers: {kind.get('min_workers')}: must be said, and 0, or it is paid for "
            f"while nothing runs"
        )
    if kind.get("max_workers", 0) < 1:
        yield f"max_workers: {kind.get('max_workers')}: must be said, and 1 or more"
    if not kind["resources"].get("GPU"):
        return
    if _is_spot(kind) and config["provider"].get("cache_stopped_nodes", True):
        yield "provider.cache_stopped_nodes: must be false: a spot node cannot be stopped and used again"
    if _is_spot(kind):
        twin = _workers(config).get(name.removesuffix("_spot"), {})
        if twin.get("resources") != kind["resources"] or _is_spot(twin):
            yield "has no twin on demand that offers the same, so Ray would not take one for the other"
        elif kind.get("priority", 0) <= twin.get("priority", 0):
            yield (
                f"priority: {kind.get('priority', 0)}: must be above its twin's, or spot does not come first"
            )


def _start_commands(config: Mapping) -> Iterator[str]:
    for key in ("head_start_ray_commands", "worker_start_ray_commands"):
        starts = [command for command in config.get(key, []) if "ray start" in command]
        if len(starts) != 1:
            yield f"{key}: {len(starts)} commands start Ray"
        for command in starts:
            said = dict(re.findall(r"\b([A-Z_]+)=(\S+?)(?=[\s;])", command.split("ray start")[0]))
            if said.get("RAY_AUTH_MODE") != "token":
                yield f"{key}: RAY_AUTH_MODE: {said.get('RAY_AUTH_MODE')}: must be said, and token"
            folder = said.get("RAY_AUTH_TOKEN_PATH", "").rsplit("/", 1)[0]
            if folder not in config.get("file_mounts", {}):
                yield f"{key}: RAY_AUTH_TOKEN_PATH: {folder or None}: no file_mount brings it to the node"


def _image(config: Mapping) -> Iterator[str]:
    image = config["docker"].get("image", "")
    if not image.endswith(f"-ray{version_of_ray()}"):
        yield (
            f"docker.image: {image}: its tag must end in -ray{version_of_ray()}, the version of "
            f"constraints.txt"
        )


def misplaced(config: Mapping) -> Iterator[str]:
    """Where the cluster does not hold what the two GPU configurations ask for at their largest, or
    wastes GPUs on it.
    """
    for path in (LLAMA, DEEPSEEK):
        engine = engine_of(path)
        for name, kind in _workers(config).items():
            if accelerator_of(kind["resources"]) != engine.accelerator:
                continue
            groups = groups_on(kind["resources"], engine)
            ideal = kind["resources"]["GPU"] // engine.tensor_parallel
            if groups != ideal:
                yield (
                    f"{path.name}: {name} holds {groups} tensor-parallel groups of "
                    f"{engine.tensor_parallel}, its GPUs {ideal}"
                )
        if unplaced := scale_up(config, engine, engine.replicas[1]).unplaced:
            yield f"{path.name}: {unplaced} of {engine.replicas[1]} replicas find no place"


def groups_on(resources: Mapping, engine: EngineSection) -> int:
    """Tensor-parallel groups of an engine that one node has room for."""
    group: Counter[str] = Counter()
    for bundle in bundles(engine)[: engine.tensor_parallel]:
        group.update(bundle)
    return int(min(resources.get(name, 0) // amount for name, amount in group.items()))


@dataclass(frozen=True)
class Scaled:
    """What Ray would start beside the head, by node type, and how many requests could never be
    placed.
    """

    started: dict[str, int]
    unplaced: int


def scale_up(config: Mapping, engine: EngineSection, replicas: int, refused: tuple[str, ...] = ()) -> Scaled:
    """Ray's answer to replicas of an engine that wait; ``refused``: types whose nodes just came up
    and never joined.
    """
    strict = placement(engine).get("placement_group_strategy") == "STRICT_PACK"
    together = [(ResourceRequestUtil.PlacementConstraintType.AFFINITY, "group", "")] if strict else []
    group = GangResourceRequest(
        requests=[ResourceRequestUtil.make(bundle, together) for bundle in bundles(engine)]
    )
    return _scheduled(config, dict.fromkeys(refused, 0.0), gang_resource_requests=[group] * replicas)


def scale_up_cpus(config: Mapping, cpus: int) -> Scaled:
    """Ray's answer to as many tasks of one CPU."""
    requests = [ResourceRequestUtil.make({"CPU": 1}, [])] * cpus
    return _scheduled(config, {}, resource_requests=ResourceRequestUtil.group_by_count(requests))


def _scheduled(config: Mapping, availability: dict[str, float], **wanted: Any) -> Scaled:
    read = AutoscalingConfig(copy.deepcopy(config), skip_content_hash=True)
    request = SchedulingRequest(
        node_type_configs=read.get_node_type_configs(),
        max_num_nodes=read.get_max_num_nodes(),
        disable_launch_config_check=True,
        recoverable_resource_availabilities=availability,
        **wanted,
    )
    reply = ResourceDemandScheduler().schedule(request)
    started = {
        r.instance_type: r.count for r in reply.to_launch if r.instance_type != read.get_head_node_type()
    }
    return Scaled(
        started, len(reply.infeasible_gang_resource_requests) + len(reply.infeasible_resource_requests)
    )
