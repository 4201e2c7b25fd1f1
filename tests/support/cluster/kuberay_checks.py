"""Offline checks of deploy/kuberay: what is wrong with a RayJob or RayService in one line each; no
network, no cluster.

No package ships KubeRay's CRDs, so the keys that its API (v1.7) takes around the pods are written
down here. Pods are read by Kubernetes' own schemas, the cluster by the code of Ray's autoscaler,
and what Ray is handed as text by Ray.
"""

import ast
import json
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from jsonschema import Draft7Validator
from pydantic import BaseModel, ValidationError
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
from ray.runtime_env import RuntimeEnv
from ray.serve.schema import DeploymentSchema, ServeApplicationSchema, ServeDeploySchema

from llmpedia.config.walk import load_config
from llmpedia.errors import LlmpediaError
from tests.support.cluster.cluster_checks import (
    INSTANCES,
    ROOT,
    Mapping,
    miscounted,
    misplaced,
    scale_up,
    secrets_in,
    version_of_ray,
)

RAYJOB = ROOT / "deploy/kuberay/rayjob.yaml"
RAYSERVICE = ROOT / "deploy/kuberay/rayservice.yaml"
KUBERNETES = "1.34"
CLUSTER_KEY = {"RayJob": "rayClusterSpec", "RayService": "rayClusterConfig"}

TEXT = {"type": "string"}
WHOLE = {"type": "integer", "minimum": 0}
YES_NO = {"type": "boolean"}
ANY = {"type": "object"}
NUMBER = {"type": "number", "minimum": 0}
TEXTS = {"type": "object", "additionalProperties": TEXT}


def _one_of(*words: str) -> Mapping:
    return {"enum": list(words)}


def _keys(required: str, **types: Mapping) -> Mapping:
    return {
        "type": "object",
        "required": required.split(),
        "properties": types,
        "additionalProperties": False,
    }


GROUP = {"resources": TEXTS, "labels": TEXTS, "rayStartParams": TEXTS, "template": ANY}
HEAD = _keys("template", **GROUP, headService=ANY, enableIngress=YES_NO, serviceType=TEXT)
WORKERS = _keys(
    "groupName minReplicas maxReplicas template",
    **GROUP,
    groupName=TEXT,
    replicas=WHOLE,
    minReplicas=WHOLE,
    maxReplicas=WHOLE,
    numOfHosts=WHOLE,
    idleTimeoutSeconds=WHOLE,
    priority={"type": "integer"},
    suspend=YES_NO,
    scaleStrategy=_keys("", workersToDelete={"type": "array", "items": TEXT}),
)
AUTOSCALER = _keys(
    "",
    version=_one_of("v1", "v2"),
    idleTimeoutSeconds=WHOLE,
    upscalingMode=_one_of("Default", "Aggressive", "Conservative"),
    image=TEXT,
    imagePullPolicy=TEXT,
    resources=ANY,
    securityContext=ANY,
    env={"type": "array", "items": _keys("name", name=TEXT, value=TEXT, valueFrom=ANY)},
    envFrom={"type": "array"},
    volumeMounts={"type": "array"},
)
CLUSTER = _keys(
    "rayVersion headGroupSpec workerGroupSpecs",
    rayVersion=TEXT,
    headGroupSpec=HEAD,
    workerGroupSpecs={"type": "array", "items": WORKERS},
    enableInTreeAutoscaling=YES_NO,
    autoscalerOptions=AUTOSCALER,
    authOptions=_keys("mode", mode=_one_of("disabled", "token"), secretName=TEXT, enableK8sTokenAuth=YES_NO),
    gcsFaultToleranceOptions=ANY,
    headServiceAnnotations=TEXTS,
    upgradeStrategy=_keys("", type=_one_of("Recreate", "None")),
    suspend=YES_NO,
    managedBy=TEXT,
)
RAYJOB_SPEC = _keys(
    "entrypoint rayClusterSpec",
    rayClusterSpec=CLUSTER,
    entrypoint=TEXT,
    runtimeEnvYAML=TEXT,
    submissionMode=_one_of("K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"),
    submitterPodTemplate=ANY,
    submitterConfig=_keys("", backoffLimit=WHOLE),
    backoffLimit=WHOLE,
    activeDeadlineSeconds=WHOLE,
    shutdownAfterJobFinishes=YES_NO,
    ttlSecondsAfterFinished=WHOLE,
    deletionStrategy=ANY,
    entrypointNumCpus=NUMBER,
    entrypointNumGpus=NUMBER,
    entrypointResources=TEXT,
    clusterSelector=TEXTS,
    metadata=TEXTS,
    jobId=TEXT,
    suspend=YES_NO,
    managedBy=TEXT,
)
RAYSERVICE_SPEC = _keys(
    "serveConfigV2 rayClusterConfig",
    serveConfigV2=TEXT,
    rayClusterConfig=CLUSTER,
    serveService=ANY,
    upgradeStrategy=_keys(
        "", type=_one_of("NewCluster", "NewClusterWithIncrementalUpgrade", "None"), clusterUpgradeOptions=ANY
    ),
    excludeHeadPodFromServeSvc=YES_NO,
    suspend=YES_NO,
    managedBy=TEXT,
)
NESTED = {"applications": ServeApplicationSchema, "deployments": DeploymentSchema}
SPECS = {"RayJob": RAYJOB_SPEC, "RayService": RAYSERVICE_SPEC}


def cluster_of(manifest: Mapping) -> Mapping:
    cluster: Mapping = manifest["spec"][CLUSTER_KEY[manifest["kind"]]]
    return cluster


def autoscaling_of(manifest: Mapping) -> Mapping:
    """The cluster as the operator's autoscaler reads it."""
    read: Mapping = _derive_autoscaling_config_from_ray_cr(
        {
            "metadata": {"name": manifest["metadata"]["name"], "namespace": "default"},
            "spec": cluster_of(manifest),
        }
    )
    return read


def manifest_problems(manifest: Mapping) -> list[str]:
    """What is wrong with a manifest."""
    if wrong := [*_wrong_keys(manifest)]:
        return wrong
    cluster = cluster_of(manifest)
    groups = {"head": cluster["headGroupSpec"], **{g["groupName"]: g for g in cluster["workerGroupSpecs"]}}
    return [
        *(f"{name}: {said}" for name, group in groups.items() for said in _pod(group["template"])),
        *_cluster(cluster),
        *(
            f"{group['groupName']}: {said}"
            for group in cluster["workerGroupSpecs"]
            for said in _replicas(group)
        ),
        *_unreadable(manifest),
    ] or [
        *(f"{name}: {said}" for name, group in groups.items() for said in _group(group, cluster)),
        *_spot(groups),
        *misplaced(autoscaling_of(manifest)),
        *(_job(manifest["spec"]) if manifest["kind"] == "RayJob" else _service(manifest)),
        *secrets_in(manifest),
    ]


def _wrong_keys(manifest: Mapping) -> Iterator[str]:
    whole = _keys(
        "apiVersion kind metadata spec",
        apiVersion=_one_of("ray.io/v1"),
        kind=_one_of(*SPECS),
        metadata=_keys("name", name=TEXT, namespace=TEXT, labels=TEXTS, annotations=TEXTS),
        spec=SPECS.get(manifest.get("kind", ""), ANY),
    )
    for e in Draft7Validator(whole).iter_errors(manifest):
        yield f"keys: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}"


def _pod(template: Mapping) -> tuple[str, ...]:
    return _refused_by_kubernetes(json.dumps(template))


# most of what is put to it stands unchanged in manifest after manifest, and each takes a tenth of a
# second
@cache
def _refused_by_kubernetes(template: str) -> tuple[str, ...]:
    wrapped = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "pod"},
        "template": json.loads(template),
    }
    try:
        kubernetes_validate.validate(wrapped, KUBERNETES, strict=True)
    except kubernetes_validate.ValidationError as e:
        return (f"pod: {'/'.join(map(str, e.absolute_path))}: {e.message[:200]}",)
    return ()


def _cluster(cluster: Mapping) -> Iterator[str]:
    if (
        not cluster.get("enableInTreeAutoscaling")
        or cluster.get("autoscalerOptions", {}).get("version") != "v2"
    ):
        yield (
            "cluster: needs enableInTreeAutoscaling and autoscalerOptions.version v2, which "
            "alone reads priority"
        )
    if cluster["rayVersion"] != version_of_ray():
        yield f"cluster: rayVersion: {cluster['rayVersion']}: constraints.txt has {version_of_ray()}"
    auth = cluster.get("authOptions", {})
    if auth.get("mode") != "token" or not auth.get("secretName"):
        yield (
            "cluster: authOptions: must say mode token and the Secret; autoscaler, submitter and "
            "operator have it from there"
        )


def _replicas(group: Mapping) -> Iterator[str]:
    if not 0 == group.get("replicas", 0) == group["minReplicas"] < group["maxReplicas"]:
        yield "replicas: must begin at 0, with minReplicas 0 and maxReplicas above"


def _unreadable(manifest: Mapping) -> Iterator[str]:
    try:
        autoscaling_of(manifest)
    except (ValueError, KeyError, TypeError, ArithmeticError) as e:
        yield f"autoscaler: {type(e).__name__}: {str(e).splitlines()[0]}"


def _group(group: Mapping, cluster: Mapping) -> Iterator[str]:
    (container,) = group["template"]["spec"]["containers"]
    if not container["image"].endswith(f"-ray{cluster['rayVersion']}"):
        yield f"image: {container['image']}: its tag must end in -ray{cluster['rayVersion']}"
    env = {e["name"]: e for e in container.get("env", [])}
    if env.get("RAY_AUTH_MODE", {}).get("value") != "token":
        yield "env: RAY_AUTH_MODE must be said, and token"
    secret = env.get("RAY_AUTH_TOKEN", {}).get("valueFrom", {}).get("secretKeyRef", {})
    if secret != {"name": cluster["authOptions"]["secretName"], "key": "auth_token"}:
        yield (
            f"env: RAY_AUTH_TOKEN: must come from key auth_token of Secret "
            f"{cluster['authOptions']['secretName']}"
        )
    yield from _gpus(group, container)


def _gpus(group: Mapping, container: Mapping) -> Iterator[str]:
    resources = {k: int(v) for k, v in group.get("resources", {}).items()}
    limits = container["resources"]["limits"]
    requests = container["resources"]["requests"]
    asked = {int(amounts.get("nvidia.com/gpu", 0)) for amounts in (limits, requests)}
    if asked != {resources.get("GPU", 0)}:
        yield f"GPU: {resources.get('GPU', 0)}: the pod asks for {sorted(asked)}"
    instance = group["template"]["spec"].get("nodeSelector", {}).get("node.kubernetes.io/instance-type")
    if instance in INSTANCES:
        yield from miscounted(instance, resources)
    elif resources.get("GPU", 0) or instance:
        yield (
            f"nodeSelector: instance-type: {instance}: not in INSTANCES of "
            f"tests/support/cluster/cluster_checks.py"
        )


def _spot(groups: dict[str, Mapping]) -> Iterator[str]:
    capacity = {
        n: g["template"]["spec"].get("nodeSelector", {}).get("karpenter.sh/capacity-type")
        for n, g in groups.items()
    }
    if capacity["head"] != "on-demand":
        yield "head: must be on demand; the driver is there"
    for name in (n for n, kind in capacity.items() if kind == "spot"):
        twin = name.removesuffix("-spot")
        if capacity.get(twin) != "on-demand" or groups[twin].get("resources") != groups[name]["resources"]:
            yield f"{name}: has no twin on demand that offers the same"
        elif groups[name].get("priority", 0) <= groups[twin].get("priority", 0):
            yield f"{name}: priority: must be above its twin's, or spot does not come first"


def _job(spec: Mapping) -> Iterator[str]:
    runtime_env = yaml.safe_load(spec.get("runtimeEnvYAML", "{}"))
    unknown = set(runtime_env) - RuntimeEnv.known_fields
    if unknown:
        yield f"runtimeEnvYAML: unknown: {', '.join(sorted(unknown))}"
        return
    try:
        RuntimeEnv(**runtime_env)
    except (TypeError, ValueError) as e:
        yield f"runtimeEnvYAML: {e}"
    if not spec.get("shutdownAfterJobFinishes"):
        yield "shutdownAfterJobFinishes: must be true, or the cluster is paid for when the run is over"
    yield from _entrypoint(shlex.split(spec["entrypoint"]))


def _entrypoint(words: list[str]) -> Iterator[str]:
    told = {
        name: [words[i + 1] for i, word in enumerate(words[:-1]) if word == name]
        for name in ("--config", "--run", "--set")
    }
    if words[0] != "python" or not (ROOT / words[1]).is_file():
        yield f"entrypoint: {words[1]}: there is no such program"
    if not all(uri.startswith("s3://") for uri in told["--run"] or [""]):
        yield "entrypoint: --run: must be on S3; a pod's disk goes with the pod"
    try:
        config = load_config(ROOT / (told["--config"] or ["none"])[0], told["--set"])
    except LlmpediaError as e:
        yield f"entrypoint: {e}"
        return
    if not config.ray.autoscaling:
        yield "entrypoint: needs --set ray.autoscaling=true; no GPU is there when it begins"


def _service(manifest: Mapping) -> Iterator[str]:
    read = yaml.safe_load(manifest["spec"]["serveConfigV2"])
    try:
        serve = ServeDeploySchema(**read)
    except (ValidationError, TypeError) as e:
        yield f"serveConfigV2: {' '.join(str(e).split())[:300]}"
        return
    yield from _unknown(read, ServeDeploySchema)
    for app in serve.applications:
        module, function = app.import_path.split(":")
        if function not in functions_of(ROOT / f"{module.replace('.', '/')}.py"):
            yield f"serveConfigV2: import_path: {app.import_path}: there is no such function"
        yield from (f"serveConfigV2: args: {said}" for said in _served(app.args, manifest))


def _served(args: Mapping, manifest: Mapping) -> Iterator[str]:
    from serving.settings import load_serve_config

    try:
        config = load_serve_config({**args, "config": str(ROOT / args.get("config", "none"))})
    except LlmpediaError as e:
        yield str(e)
        return
    parts = {"judge": config.judge, "perplexity": config.perplexity}
    engines = {
        name: part.engine
        for name, part in parts.items()
        if part is not None and part.engine.accelerator != "cpu"
    }
    for name in sorted({"judge", "perplexity"} - set(engines)):
        yield f"{name}.engine: not served on GPUs; leave the cluster's out, or set its accelerator"
    for name, engine in engines.items():
        if scale_up(autoscaling_of(manifest), engine, engine.replicas[0]).unplaced:
            yield f"{name}.engine: finds no place"
    env = cluster_of(manifest)["headGroupSpec"]["template"]["spec"]["containers"][0]["env"]
    if not any(e["name"] == config.auth.keys_env and "secretKeyRef" in e.get("valueFrom", {}) for e in env):
        yield f"auth.keys_env: {config.auth.keys_env}: no Secret brings the clients' keys into the pods"


def _unknown(read: Mapping, model: type[BaseModel]) -> Iterator[str]:
    """Keys that Serve would pass over in silence."""
    for key, value in read.items():
        if key not in model.model_fields:
            yield f"serveConfigV2: {key}: no key of {model.__name__}"
        for inner in value if key in NESTED else []:
            yield from _unknown(inner, NESTED[key])


def functions_of(path: Path) -> set[str]:
    """Names of a file's functions, without importing it; none if there is no such file."""
    tree: Any = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
