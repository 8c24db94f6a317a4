"""Three GPU models, shared in four ways: who sits where, and why the others wait."""

from rich.console import Console
from rich.table import Table

import libgpusched as gs

cluster = gs.Cluster()
cluster.add_node(
    "a100",
    cpu=64,
    devices=[
        gs.Device("A100-SXM4-40GB", gpu_mem_mib=40960, sharing="mig", partition_on_demand=True),
        gs.Device(  # a layout that somebody has fixed
            "A100-SXM4-40GB",
            gpu_mem_mib=40960,
            sharing="mig",
            partitions=[("3g.20gb", 4), ("2g.10gb", 0), ("2g.10gb", 2)],
        ),
    ],
)
cluster.add_node(
    "h100", cpu=64, devices=[gs.Device("H100-SXM5-80GB", gpu_mem_mib=81559, reserved_mem_mib=559)]
)
cluster.add_node(
    "t4",
    cpu=32,
    devices=[
        gs.Device("T4", gpu_mem_mib=15360),
        gs.Device("T4", gpu_mem_mib=15360, sharing="mps", replicas=4),
        gs.Device("T4", gpu_mem_mib=15360, sharing="exclusive"),
    ],
)
scheduler = gs.Scheduler(cluster, 0.5 * gs.BestFit() + 0.5 * gs.MigStart())

jobs = {
    "training": gs.Shape(cpu=16, gpu=1, gpu_mem_mib=60000),
    "notebook": gs.Shape(cpu=2, gpu=0.5, gpu_mem_mib=4000, sharing=["fraction"]),
    "chat-1": gs.Shape(cpu=1, sharing=["mps"], gpu_count=1, gpu_milli=0),
    "chat-2": gs.Shape(cpu=1, sharing=["mps"], gpu_count=1, gpu_milli=0),
    "render": gs.Shape(cpu=4, mig="3g.20gb"),
    "batch": gs.Shape(cpu=4, mig="2g.10gb", gpu_count=2),
    "19-gb": gs.Shape(cpu=4, gpu_mem_mib=19000),  # any device, or part of one
    "tiny": gs.Shape(cpu=1, mig="1g.5gb"),
    "large": gs.Shape(cpu=4, mig="7g.40gb"),
}

table = Table(title="Who sits where, and why")
for column in ("job", "node", "how", "milli", "MiB", "why"):
    table.add_column(column, overflow="fold")
for name, shape in jobs.items():
    decision = scheduler.place(name, shape)
    grant = decision.grant
    if grant is None:
        table.add_row(name, "", "waits", "", "", decision.text)
        continue
    where = [f"{i.profile} at {i.start} of {i.device}" for i in grant.instances]
    how = ", ".join(where) or f"{grant.mode}, device {decision.devices[0]}"
    why = f"score {decision.score}" + ("" if grant.isolated else "; not isolated")
    table.add_row(name, decision.node, how, str(grant.gpu_milli), str(grant.gpu_mem_mib), why)
Console(width=110).print(table)
