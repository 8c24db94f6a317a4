"""Places jobs on two machines, and says why one has to wait."""

import libgpusched as gs

cluster = gs.Cluster()
cluster.add_node("big", cpu=64, mem_mib=262144, gpus=8, model="A100-SXM4-80GB")
cluster.add_node("small", cpu=16, mem_mib=65536, gpus=2, model="T4")
scheduler = gs.Scheduler(cluster, 0.8 * gs.BestFit() + 0.2 * gs.GpuPacking())
jobs = {
    "notebook": gs.Shape(cpu=2, mem_mib=8192, gpu=0.5),
    "training": gs.Shape(cpu=32, mem_mib=131072, gpu=8),
    "inference": gs.Shape(cpu=4, mem_mib=16384, gpu=2, models=["T4"]),
}
for name, shape in jobs.items():
    decision = scheduler.place(name, shape)
    print(f"{name}: {decision.text if decision else f'waits, because {decision.reason}'}")
scheduler.release("notebook")
print(f"inference: {scheduler.place('inference', jobs['inference']).text}")
