"""A cluster that grows by pretend nodes: Ray's own autoscaler (v2, as ``ray up`` and KubeRay use
it) and its fake node provider.

Each pretend node is a raylet of its own on this machine that claims what its type claims; nothing
is ever asked of a GPU. ``ray.cluster_utils.AutoscalingCluster`` is of no use: it needs a file that
the wheel lacks, and ends every Ray of the machine.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from tests.support.harness import ENV, RAY, Head, free_port, wait_for

# as the provider takes for granted
_HEAD_ID = "f" * 51 + "00000"
_HEAD_TYPE = "ray.head.default"
_STORE = 80_000_000


class FakeCluster(Head):
    """``types``: as in a cluster launcher's file; of each only resources, limits and priority count
    here.
    """

    def __init__(self, types: dict[str, dict], head_type: str, idle_s: float = 5) -> None:
        self.types = types
        self.head_type = head_type
        self.idle_s = idle_s
        super().__init__()

    def start(self) -> None:
        self.port = free_port()
        self.temp = tempfile.mkdtemp(prefix="lp-ray-", dir="/tmp")
        file = Path(self.temp) / "autoscaling.yaml"
        file.write_text(json.dumps(self._config()))
        head = self.types[self.head_type]["resources"]
        command = [RAY, "start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={self.port}"]
        command += [
            f"--num-cpus={head['CPU']}",
            "--num-gpus=0",
            f"--autoscaling-config={file}",
            f"--temp-dir={self.temp}",
        ]
        command += [f"--object-store-memory={_STORE}", "--include-dashboard=false", "--disable-usage-stats"]
        command += [f"--ray-client-server-port={free_port()}"]
        env = {
            **ENV,
            "RAY_FAKE_CLUSTER": "1",
            "RAY_enable_autoscaler_v2": "1",
            "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        }
        env |= {"RAY_CLOUD_INSTANCE_ID": _HEAD_ID, "RAY_OVERRIDE_NODE_ID_FOR_TESTING": _HEAD_ID}
        env |= {"RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}
        with (Path(self.temp) / "head.log").open("w") as log:
            self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
        wait_for(self.port, 60)

    def _config(self) -> dict:
        kept = ("resources", "min_workers", "max_workers", "priority")
        types = {
            name: {**{k: t[k] for k in kept if k in t}, "node_config": {}} for name, t in self.types.items()
        }
        for kind in types.values():
            kind["resources"] = {**kind["resources"], "object_store_memory": _STORE}
        types[_HEAD_TYPE] = {**types.pop(self.head_type), "max_workers": 0}
        commands = (
            "initialization",
            "setup",
            "head_setup",
            "worker_setup",
            "head_start_ray",
            "worker_start_ray",
        )
        return {
            "cluster_name": "fake",
            "max_workers": 8,
            "available_node_types": types,
            "head_node_type": _HEAD_TYPE,
            "idle_timeout_minutes": self.idle_s / 60,
            "upscaling_speed": 20,
            "auth": {},
            "docker": {},
            "file_mounts": {},
            "file_mounts_sync_continuously": False,
            **{f"{name}_commands": [] for name in commands},
            **{name: [] for name in ("cluster_synced_files", "rsync_exclude", "rsync_filter")},
            "provider": {
                # "external": as fake_multinode Ray would look for defaults in a file that the wheel
                # lacks
                "type": "external",
                "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
                "use_node_id_as_ip": True,  # all nodes have one address here
                "gcs_address": self.address,
                "head_node_id": _HEAD_ID,
                "launch_multiple": True,
                "disable_launch_config_check": True,
                "disable_node_updaters": True,
                "worker_liveness_check": False,
                "foreground_node_launch": True,
            },
        }
