"""ray_cluster.yaml and deploy/kuberay: read by Ray, by AWS's and Kubernetes' models, and wrong in
many ways on purpose.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

from llmpedia.config.walk import load_config
from llmpedia.engines.vllm_serve import bundles
from llmpedia.materialize.plan import plan
from tests.support.cluster.cluster_checks import (
    DEEPSEEK,
    INSTANCES,
    LAUNCHER,
    LLAMA,
    ROOT,
    Mapping,
    Scaled,
    engine_of,
    launcher_problems,
    read_yaml,
    scale_up,
    scale_up_cpus,
)
from tests.support.cluster.kuberay_checks import (
    RAYJOB,
    RAYSERVICE,
    autoscaling_of,
    cluster_of,
    manifest_problems,
)

GONE = object()
TYPE = "available_node_types"
P5 = "available_node_types p5"
SPOT = "available_node_types p5_spot"
CLUSTER = "spec rayClusterSpec"
GROUP = f"{CLUSTER} workerGroupSpecs 1"
POD = f"{CLUSTER} workerGroupSpecs 1 template spec"
START = "ulimit -n 65536; ray start --address=$RAY_HEAD_IP:6379"


def change(config: Mapping, path: str, value: Any) -> None:
    """Set, take away, or edit (a function) what lies at a path of words."""
    *way, last = (int(word) if word.isdigit() else word for word in path.split())
    for step in way:
        config = config[step]
    if value is GONE:
        del config[last]
    else:
        config[last] = value(config[last]) if callable(value) else value


def edited(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def renamed(path: str, wrong: str, value: Any) -> dict[str, Any]:
    return {path: GONE, f"{path.rsplit(' ', 1)[0]} {wrong}": value}


# What is done to the file -> what is said of it
LAUNCHER_MISTAKES = {
    "typo at the top": ({"idle_timeout_minute": 5}, "idle_timeout_minute"),
    "typo in a node type": (renamed(f"{P5} min_workers", "min_worker", 0), "min_worker"),
    "typo in docker": ({"docker run_option": []}, "run_option"),
    "typo in auth": ({"auth ssh_usr": "ubuntu"}, "ssh_usr"),
    "typo in provider": (
        renamed("provider cache_stopped_nodes", "cache_stoped_nodes", False),
        "provider.cache_stoped_nodes",
    ),
    "typo in node_config": ({f"{P5} node_config InstanceTyp": "x"}, "InstanceTyp"),
    "typo in a disk": ({f"{P5} node_config BlockDeviceMappings 0 Ebs VolumeSze": 1}, "VolumeSze"),
    "spot misspelt": (
        {f"{SPOT} node_config InstanceMarketOptions MarketType": "spott"},
        "spott: AWS knows no such MarketType",
    ),
    "spot option misspelt": ({f"{SPOT} node_config InstanceMarketOption": {}}, "InstanceMarketOption"),
    "unknown instance type": ({f"{P5} node_config InstanceType": "p5.47xlarge"}, "p5.47xlarge"),
    "disk size as text": ({f"{P5} node_config BlockDeviceMappings 0 Ebs VolumeSize": "300"}, "VolumeSize"),
    "no such head": ({"head_node_type": "boss"}, "head_node_type"),
    "no node types": ({TYPE: GONE}, "`head_node_type` must be one of"),
    "negative resource": ({f"{P5} resources GPU": -1}, "-1"),
    "count as text": ({f"{P5} max_workers": "2"}, "'2' is not of type 'integer'"),
    "min over max": ({f"{P5} min_workers": 3}, "min_workers"),
    "a GPU node that stays": ({f"{P5} min_workers": 1}, "p5: min_workers: 1: must be said, and 0"),
    "no limit": ({f"{P5} max_workers": GONE}, "p5: max_workers"),
    "GPUs miscounted": ({f"{P5} resources GPU": 4}, "p5: GPU: 4: p5.48xlarge has 8"),
    "CPUs miscounted": ({f"{P5} resources CPU": 193}, "p5: CPU: 193: p5.48xlarge has 192"),
    "no CPU for the bundles": (
        {f"{P5} resources CPU": 7},
        "p5 holds 0 tensor-parallel groups of 8, its GPUs 1",
    ),
    "another accelerator": (
        renamed(f"{P5} resources accelerator_type:H100", "accelerator_type:H200", 1),
        "has H100",
    ),
    "no accelerator": ({f"{P5} resources accelerator_type:H100": GONE}, "p5: accelerator_type: None"),
    "too few nodes": (
        {f"{TYPE} p4de_spot max_workers": 1, f"{TYPE} p4de": GONE},
        "llama-70b-4xa100.yaml: 2 of 4",
    ),
    "spot is kept": ({"provider cache_stopped_nodes": True}, "provider.cache_stopped_nodes: must be false"),
    "spot is not first": ({f"{SPOT} priority": 0}, "p5_spot: priority: 0"),
    "spot without a twin": ({f"{P5} resources CPU": 9}, "p5_spot: has no twin"),
    "the head on spot": (
        {f"{TYPE} head node_config InstanceMarketOptions": {"MarketType": "spot"}},
        "head: on spot",
    ),
    "GPU work on the head": ({f"{TYPE} head resources GPU": 1}, "head: must say GPU: 0"),
    "no role": ({f"{P5} node_config IamInstanceProfile": GONE}, "p5: IamInstanceProfile"),
    "two zones": ({"provider availability_zone": "us-east-1a,us-east-1b"}, "must be one zone"),
    "auth mode guessed by the head": (
        {
            "head_start_ray_commands": [
                "ulimit -n 65536; ray start --head --autoscaling-config=~/ray_bootstrap_config.yaml"
            ]
        },
        "head_start_ray_commands: RAY_AUTH_MODE: None",
    ),
    "auth mode guessed by workers": (
        {"worker_start_ray_commands": [START]},
        "worker_start_ray_commands: RAY_AUTH_MODE: None",
    ),
    "auth off": (
        {
            "worker_start_ray_commands": [
                f"export RAY_AUTH_MODE=disabled RAY_AUTH_TOKEN_PATH=/secrets/t; {START}"
            ]
        },
        "RAY_AUTH_MODE: disabled",
    ),
    "no token": ({"file_mounts": {}}, "RAY_AUTH_TOKEN_PATH: /secrets: no file_mount"),
    "another Ray in the image": (
        {"docker image": "registry.example.com/llmpedia:0.1.0-ray2.59.0"},
        "docker.image",
    ),
    "a key in the file": ({"metadata": {"key": "AKIAABCDEFGHIJKLMNOP"}}, "holds an AWS key"),
    "an account in the file": (
        {"docker image": "123456789012.dkr.ecr.us-east-1.amazonaws.com/x"},
        "holds an account id",
    ),
}
RAYJOB_MISTAKES = {
    "another API": ({"apiVersion": "ray.io/v2"}, "apiVersion"),
    "typo in spec": (
        renamed("spec shutdownAfterJobFinishes", "shutdownAfterJobFinshes", True),
        "shutdownAfterJobFinshes",
    ),
    "typo in cluster": ({f"{CLUSTER} autoscalerOption": {}}, "autoscalerOption"),
    "typo in autoscaler": ({f"{CLUSTER} autoscalerOptions idleTimeoutSecond": 1}, "idleTimeoutSecond"),
    "typo in group": ({f"{GROUP} maxReplica": 2}, "maxReplica"),
    "typo in pod": ({f"{POD} nodeSelectr": {}}, "nodeSelectr"),
    "typo in container": ({f"{POD} containers 0 volumeMount": []}, "volumeMount"),
    "typo in env": ({f"{POD} containers 0 env 0 valu": "x"}, "valu"),
    "no minReplicas": ({f"{GROUP} minReplicas": GONE}, "minReplicas"),
    "count as text": ({f"{GROUP} maxReplicas": "2"}, "'2' is not of type 'integer'"),
    "a number where Ray wants text": (
        {f"{CLUSTER} headGroupSpec rayStartParams num-cpus": 0},
        "0 is not of type 'string'",
    ),
    "unknown upscaling": ({f"{CLUSTER} autoscalerOptions upscalingMode": "Fast"}, "Fast"),
    "no head": ({f"{CLUSTER} headGroupSpec": GONE}, "headGroupSpec"),
    "no amount": ({f"{GROUP} resources memory": "much"}, "autoscaler: ValueError"),
    "min over max": ({f"{GROUP} minReplicas": 3}, "p4de-spot: replicas"),
    "a GPU pod that stays": (
        {f"{GROUP} minReplicas": 1, f"{GROUP} replicas": 1},
        "p4de-spot: replicas: must begin at 0",
    ),
    "GPUs miscounted": ({f"{GROUP} resources GPU": "4"}, "p4de-spot: GPU: 4"),
    "no CPU for the bundles": (
        {f"{GROUP} resources CPU": "7"},
        "p4de-spot holds 1 tensor-parallel groups of 4, its GPUs 2",
    ),
    "GPUs not asked for": (
        {f"{POD} containers 0 resources limits nvidia.com/gpu": GONE},
        "the pod asks for [0, 8]",
    ),
    "another accelerator": (
        renamed(f"{GROUP} resources accelerator_type:A100", "accelerator_type:A100-80G", "1"),
        "p4de-spot: accelerator_type: A100-80G: p4de.24xlarge has A100",
    ),
    "spot is not first": ({f"{GROUP} priority": 0}, "p4de-spot: priority"),
    "the head on spot": (
        {f"{CLUSTER} headGroupSpec template spec nodeSelector karpenter.sh/capacity-type": "spot"},
        "head: must be",
    ),
    "auth mode guessed": (
        {f"{POD} containers 0 env 0": {"name": "OTHER", "value": "x"}},
        "p4de-spot: env: RAY_AUTH_MODE",
    ),
    "the token in the file": (
        {f"{POD} containers 0 env 1": {"name": "RAY_AUTH_TOKEN", "value": "x"}},
        "must come from key auth_token",
    ),
    "auth left to the operator": ({f"{CLUSTER} authOptions": GONE}, "authOptions"),
    "the autoscaler that knows no priority": (
        {f"{CLUSTER} autoscalerOptions version": "v1"},
        "autoscalerOptions.version v2",
    ),
    "another Ray": ({f"{CLUSTER} rayVersion": "2.59.0"}, "rayVersion: 2.59.0"),
    "another Ray in an image": (
        {f"{POD} containers 0 image": "registry.example.com/llmpedia:0.1.0-ray2.59.0"},
        "p4de-spot: image",
    ),
    "unknown runtime_env": ({"spec runtimeEnvYAML": "env_var: {A: b}"}, "runtimeEnvYAML: unknown: env_var"),
    "a number in runtime_env": ({"spec runtimeEnvYAML": "env_vars: {A: 1}"}, "runtimeEnvYAML"),
    "a cluster that stays": ({"spec shutdownAfterJobFinishes": False}, "shutdownAfterJobFinishes"),
    "no such program": (
        {"spec entrypoint": f"python jobs/materialise.py --config {LLAMA}"},
        "jobs/materialise.py",
    ),
    "no such config": (
        {"spec entrypoint": "python jobs/materialize.py --config configs/llama.yaml"},
        "configs/llama.yaml",
    ),
    "no such setting": (
        {
            "spec entrypoint": (
                f"python jobs/materialize.py --config {LLAMA} --run s3://b/r --set ray.autoscale=true"
            )
        },
        "ray.autoscale",
    ),
    "GPUs expected to be there": (
        {"spec entrypoint": f"python jobs/materialize.py --config {LLAMA} --run s3://b/r"},
        "ray.autoscaling",
    ),
    "a run folder in the pod": (
        {
            "spec entrypoint": (
                f"python jobs/materialize.py --config {LLAMA} --run runs/x --set ray.autoscaling=true"
            )
        },
        "--run: must be on S3",
    ),
}
SERVED = "spec serveConfigV2"
RAYSERVICE_MISTAKES = {
    "typo in spec": ({"spec serveConfigV3": ""}, "serveConfigV3"),
    "typo in an application": ({SERVED: edited("route_prefix", "route")}, "serveConfigV2: route"),
    "typo in a deployment": (
        {SERVED: edited("args:", "deployments: [{name: Scorer, num_replica: 1}]\n  args:")},
        "num_replica",
    ),
    "count as text": (
        {SERVED: edited("args:", "deployments: [{name: Scorer, num_replicas: two}]\n  args:")},
        "num_replicas",
    ),
    "no such application": ({SERVED: edited("serving.app:build", "serving.app:bild")}, "serving.app:bild"),
    "no such config": ({SERVED: edited("configs/serve.yaml", "configs/serv.yaml")}, "configs/serv.yaml"),
    "no such setting": ({SERVED: edited("judge.engine.model", "judge.engine.modle")}, "judge.engine.modle"),
    "a judge without GPUs": (
        {SERVED: edited("judge.engine.accelerator: A100", "")},
        "judge.engine: not served on GPUs",
    ),
    "a judge too large for a node": (
        {SERVED: edited("parallel: 4", "parallel: 16")},
        "judge.engine: finds no place",
    ),
    "a scorer on GPUs that no node has": (
        {SERVED: edited("perplexity.engine.accelerator: A100", "perplexity.engine.accelerator: B200")},
        "perplexity.engine: finds no place",
    ),
    "no keys for clients": (
        {
            "spec rayClusterConfig headGroupSpec template spec containers 0 env 3": {
                "name": "OTHER",
                "value": "x",
            }
        },
        "no Secret brings the clients' keys",
    ),
}


def test_the_launcher_file_is_in_order():
    assert launcher_problems(read_yaml(LAUNCHER)) == []


@pytest.mark.parametrize("path", [RAYJOB, RAYSERVICE], ids=lambda p: p.stem)
def test_the_manifests_are_in_order(path):
    assert manifest_problems(read_yaml(path)) == []


def assert_told(path, problems, changes, told) -> None:
    config = read_yaml(path)
    for where, value in changes.items():
        change(config, where, value)
    said = problems(config)
    assert any(told in line for line in said), said


@pytest.mark.parametrize("mistake", LAUNCHER_MISTAKES)
def test_a_mistake_in_the_launcher_file_is_told(mistake):
    assert_told(LAUNCHER, launcher_problems, *LAUNCHER_MISTAKES[mistake])


@pytest.mark.parametrize("mistake", RAYJOB_MISTAKES)
def test_a_mistake_in_the_rayjob_is_told(mistake):
    assert_told(RAYJOB, manifest_problems, *RAYJOB_MISTAKES[mistake])


@pytest.mark.parametrize("mistake", RAYSERVICE_MISTAKES)
def test_a_mistake_in_the_rayservice_is_told(mistake):
    assert_told(RAYSERVICE, manifest_problems, *RAYSERVICE_MISTAKES[mistake])


@pytest.fixture(params=["launcher", "kuberay"])
def cluster(request) -> Mapping:
    """Each cluster as Ray's autoscaler reads it, with the names of the launcher's types."""
    if request.param == "launcher":
        return read_yaml(LAUNCHER)
    read = autoscaling_of(read_yaml(RAYJOB))
    return {**read, TYPE: {name.replace("-", "_"): kind for name, kind in read[TYPE].items()}}


@pytest.mark.parametrize(
    ("path", "name"), [(LLAMA, "p4de"), (DEEPSEEK, "p5")], ids=lambda v: getattr(v, "stem", v)
)
def test_a_node_offers_what_bundles_ask_for(cluster, path, name):
    for kind in (cluster[TYPE][name], cluster[TYPE][f"{name}_spot"]):
        assert set(bundles(engine_of(path))[0]) <= set(kind["resources"])


@pytest.mark.parametrize(
    ("replicas", "started"),
    [
        (1, {"p4de_spot": 1}),
        (2, {"p4de_spot": 1}),
        (3, {"p4de_spot": 2}),
        (4, {"p4de_spot": 2}),
        (5, {"p4de_spot": 2, "p4de": 1}),
    ],
)
def test_two_replicas_of_a_70b_model_share_a_node(cluster, replicas, started):
    assert scale_up(cluster, engine_of(LLAMA), replicas) == Scaled(started, 0)


def test_one_replica_of_deepseek_takes_two_whole_nodes(cluster):
    engine = engine_of(DEEPSEEK)
    assert engine.gpus == 2 * INSTANCES["p5.48xlarge"][1]
    assert scale_up(cluster, engine, 1) == Scaled({"p5_spot": 2}, 0)


def test_on_demand_is_taken_where_spot_came_up_and_never_joined(cluster):
    assert scale_up(cluster, engine_of(DEEPSEEK), 1, refused=("p5_spot",)) == Scaled({"p5": 2}, 0)


def test_on_demand_is_taken_once_the_spot_type_is_closed():
    """What docs/clusters.md tells to do when AWS refuses spot."""
    config = read_yaml(LAUNCHER)
    change(config, f"{SPOT} max_workers", 0)
    assert scale_up(config, engine_of(DEEPSEEK), 1) == Scaled({"p5": 2}, 0)


def test_ray_takes_no_notice_of_a_refused_launch():
    """Why docs/clusters.md tells to change over by hand on AWS: once this fails, Ray does it."""
    from ray.autoscaler.v2.instance_manager.subscribers.cloud_resource_monitor import CloudResourceMonitor
    from ray.core.generated.instance_manager_pb2 import Instance, InstanceUpdateEvent

    def seen(status) -> dict[str, float]:
        monitor = CloudResourceMonitor()
        monitor.notify(
            [InstanceUpdateEvent(instance_id="i", instance_type="p5_spot", new_instance_status=status)]
        )
        return monitor.get_recoverable_resource_availabilities()

    assert seen(Instance.ALLOCATION_FAILED) == {}
    assert seen(Instance.ALLOCATION_TIMEOUT) == {"p5_spot": 0.0}


def test_work_on_cpus_starts_no_gpu_node(cluster):
    assert scale_up_cpus(cluster, 16) == Scaled({}, 0)
    assert scale_up_cpus(cluster, 48) == Scaled({"cpu": 2}, 0)


def test_what_no_node_holds_is_said_to_find_no_place(cluster):
    engine = engine_of(LLAMA).model_copy(update={"tensor_parallel": 16})
    assert scale_up(cluster, engine, 1) == Scaled({}, 1)


def test_launcher_and_manifests_have_the_same_nodes():
    launcher = read_yaml(LAUNCHER)
    job = read_yaml(RAYJOB)
    service = read_yaml(RAYSERVICE)
    for group in (cluster_of(service)["headGroupSpec"], *cluster_of(service)["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        container["env"] = [e for e in container["env"] if e["name"] != "LLMPEDIA_SERVE_KEYS"]
    assert cluster_of(job) == cluster_of(service)
    here = {n.replace("_", "-"): k for n, k in launcher[TYPE].items() if n != "head"}
    there = {g["groupName"]: g for g in cluster_of(job)["workerGroupSpecs"]}
    assert set(here) == set(there)
    for name, kind in here.items():
        group = there[name]
        assert {k: int(v) for k, v in group["resources"].items()} == kind["resources"]
        assert (group["maxReplicas"], group.get("priority")) == (kind["max_workers"], kind.get("priority"))
        selector = group["template"]["spec"].get("nodeSelector", {})
        assert selector.get("node.kubernetes.io/instance-type") in (kind["node_config"]["InstanceType"], None)
    assert {c["image"] for g in there.values() for c in g["template"]["spec"]["containers"]} == {
        launcher["docker"]["image"]
    }


def test_the_image_of_the_dockerfile_is_the_one_that_is_named():
    image = read_yaml(LAUNCHER)["docker"]["image"]
    assert f"docker build -f deploy/Dockerfile -t {image} ." in (ROOT / "deploy/Dockerfile").read_text()


DOCS = ROOT / "docs/clusters.md"
NUMBER = r"\$?(\d[\d,]*(?:\.\d+)?)"


def test_the_arithmetic_of_hours_and_costs_holds():
    terms = re.findall(rf"{NUMBER} ([×/+]) {NUMBER} = {NUMBER}", DOCS.read_text())
    assert len(terms) >= 18
    for first, sign, second, told in terms:
        a, b, result = (float(n.replace(",", "")) for n in (first, second, told))
        found = {"×": a * b, "/": a / b, "+": a + b}[sign]
        assert result == pytest.approx(found, abs=0.5 if "." not in told else 0.051), (
            first,
            sign,
            second,
            told,
        )


@pytest.mark.parametrize("path", [LLAMA, DEEPSEEK], ids=lambda p: p.stem)
def test_the_tokens_of_the_costs_are_those_of_the_plan(path):
    row = next(r for r in plan(load_config(path), None).stages if r["stage"] == "all")
    assert all(
        f"{row[name]:,}" in DOCS.read_text().replace("\n", " ")
        for name in ("calls", "prompt_tokens", "completion_tokens")
    )
