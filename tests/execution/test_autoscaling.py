"""GPU nodes come for an engine's placement and go when it is gone: the shipped configurations on
the shipped node types.

The nodes are pretend ones (``fake_cluster``), the autoscaler, its scheduler, placement groups and
Serve are Ray's own, bundles and options the product's own. In the place of vLLM stands a replica
that only says where its bundles came to lie.
"""

import json
import time
from collections import Counter

import pytest
import yaml

from llmpedia.config.walk import load_config
from llmpedia.engines import vllm_serve
from llmpedia.errors import EngineError
from tests.support.cluster.fake_cluster import FakeCluster
from tests.support.harness import HERE, llmpedia

pytestmark = pytest.mark.real

ROOT = HERE.parents[1]
LLAMA = ROOT / "configs/llama-70b-4xa100.yaml"
DEEPSEEK = ROOT / "configs/deepseek-v3-16xh100.yaml"


class StandIn:
    """In the place of ``EngineReplica``."""

    def __init__(self, engine_args: dict) -> None:
        vllm_serve.check_groups(engine_args["tensor_parallel_size"])

    def where(self) -> list[str]:
        import ray

        group = ray.util.get_current_placement_group()
        return list(ray.util.placement_group_table(group)["bundles_to_node_id"].values())


@pytest.fixture(scope="module")
def cluster():
    """With the node types of ray_cluster.yaml, and one whose GPUs do not go into groups of two."""
    file = yaml.safe_load((ROOT / "ray_cluster.yaml").read_text())
    odd = {"resources": {"CPU": 3, "GPU": 3, "accelerator_type:L4": 1}, "max_workers": 2}
    cluster = FakeCluster({**file["available_node_types"], "odd": odd}, file["head_node_type"])
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def ray(cluster):
    import ray

    ray.init(
        cluster.address,
        log_to_driver=False,
        logging_level="ERROR",
        runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}},
    )
    yield ray
    ray.shutdown()


def alive(ray) -> dict[str, dict]:
    """Node id -> resources, of the nodes that were added."""
    nodes = [n for n in ray.nodes() if n["Alive"]]
    return {n["NodeID"]: n["Resources"] for n in nodes if "node:__internal_head__" not in n["Resources"]}


def types(cluster) -> list[str]:
    """Node types of the nodes that were added."""
    from ray.autoscaler.v2.sdk import get_cluster_status

    status = get_cluster_status(cluster.address)
    return sorted(
        n.ray_node_type_name
        for n in [*status.active_nodes, *status.idle_nodes]
        if n.ray_node_type_name in cluster.types
    )


def gone(ray, seconds: float = 60) -> float:
    """Seconds until no added node is left."""
    begin = time.monotonic()
    while alive(ray):
        assert time.monotonic() - begin < seconds, alive(ray)
        time.sleep(0.2)
    return time.monotonic() - begin


@pytest.mark.parametrize(
    ("file", "kind", "spread", "want"),
    [(LLAMA, "A100", [4], ["p4de_spot"]), (DEEPSEEK, "H100", [8, 8], ["p5_spot", "p5_spot"])],
    ids=["70B on one node", "DeepSeek on two"],
)
def test_an_engine_brings_its_nodes_up_runs_and_lets_them_go(ray, cluster, file, kind, spread, want):
    from ray import serve

    engine = load_config(file).engine
    gone(ray)
    name = vllm_serve.app_name(engine)
    begin = time.monotonic()
    app = vllm_serve.deployment(engine).options(func_or_class=StandIn).bind(vllm_serve.engine_args(engine))
    assert vllm_serve.deploy(name, app, 90)
    up = time.monotonic() - begin
    where = serve.get_deployment_handle(vllm_serve.DEPLOYMENT, name).where.remote().result(timeout_s=20)
    nodes = alive(ray)
    assert sorted(Counter(where).values()) == spread
    assert set(where) == set(nodes)
    assert types(cluster) == want
    assert all(r["GPU"] == 8 and f"accelerator_type:{kind}" in r for r in nodes.values())
    vllm_serve.stop(engine)
    print(f"{len(nodes)} x 8 {kind} up and running after {up:.1f} s, gone {gone(ray):.1f} s after the engine")


def test_a_gpu_that_no_node_type_offers_is_refused_at_once(ray, cluster, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"max_position_embeddings": 131072}))
    sets = [
        "ray.autoscaling=true",
        f"ray.address={cluster.address}",
        f"engine.model={tmp_path}",
        "engine.accelerator=B200",
    ]
    begin = time.monotonic()
    done = llmpedia(
        "materialize", str(LLAMA), "--run", str(tmp_path / "run"), *[a for s in sets for a in ("--set", s)]
    )
    print(f"refused after {time.monotonic() - begin:.1f} s: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 3
    last = done.stderr.splitlines()[-1]
    assert "need 4 GPUs (B200)" in last
    assert (
        "offered: 6 node type(s): cpu (0 GPUs, 16 CPUs, at most 2), p4de_spot (8 GPUs A100, 8 "
        "CPUs, at most 2)"
    ) in last
    assert not alive(ray)


def test_what_waits_in_vain_ends_with_a_line_and_asks_for_nothing_more(ray):
    """As where node types cannot be read: 9 GPUs on one node."""
    from ray import serve

    engine = load_config(LLAMA, ["engine.tensor_parallel=9"]).engine
    app = vllm_serve.deployment(engine).options(func_or_class=StandIn).bind(vllm_serve.engine_args(engine))
    with pytest.raises(EngineError) as caught:
        vllm_serve.deploy("in-vain", app, 5)
    print(caught.value)
    assert str(caught.value).startswith(
        "engine: in-vain did not start within engine.start_timeout_s = 5: its GPUs are"
    )
    assert len(str(caught.value).splitlines()) == 1
    assert "in-vain" not in serve.status().applications
    assert not alive(ray)


def test_a_replica_whose_tensor_parallel_group_would_be_torn_refuses_to_start(ray):
    """Two groups of two on nodes of three GPUs: Ray packs 3 + 1, which vLLM would run over the
    network.
    """
    engine = load_config(
        LLAMA, ["engine.tensor_parallel=2", "engine.pipeline_parallel=2", "engine.accelerator=L4"]
    ).engine
    app = vllm_serve.deployment(engine).options(func_or_class=StandIn).bind(vllm_serve.engine_args(engine))
    with pytest.raises(EngineError) as caught:
        vllm_serve.deploy("torn", app, 90)
    print(caught.value)
    assert "engine.tensor_parallel = 2: its GPUs came to lie on 2 nodes as 1 + 3" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
