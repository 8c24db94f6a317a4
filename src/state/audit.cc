#include "gpusched/state/audit.h"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpusched/base/quantity.h"

namespace gpusched {
namespace {

absl::Status Differs(std::string_view what, std::string_view name, std::int64_t ledger,
                     std::int64_t counted) {
  return absl::InternalError(absl::StrCat("audit: ", std::string(what), " of '", std::string(name),
                                          "' is ", ledger, " in the ledger but ", counted,
                                          " by count"));
}

// What the tasks on one node imply.
struct Count {
  Resources used;
  std::array<std::uint32_t, kTaskKinds> tasks{};
  std::vector<DeviceLedger> devices;  // the node's, with the use that the tasks imply
};

absl::Status AuditNode(const ClusterState& state, std::uint32_t slot, const Count& count) {
  const NodeTable& nodes = state.nodes();
  const std::string_view name = state.node_name(nodes.id(slot));
  Resources free;
  std::int64_t whole_free = 0;
  const auto ledgers = nodes.devices(slot);
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    const DeviceLedger& d = ledgers[i];
    const DeviceLedger& counted = count.devices[i];
    if (d.used != counted.used) {
      return Differs(absl::StrCat("devices[", i, "].used.gpu_milli"), name, d.used.gpu_milli,
                     counted.used.gpu_milli);
    }
    if (d.used_by != counted.used_by || d.held_by != counted.held_by) {
      return Differs(absl::StrCat("devices[", i, "].tenants"), name,
                     d.used_by.tenants + d.held_by.tenants,
                     counted.used_by.tenants + counted.held_by.tenants);
    }
    if (d.held != counted.held) {
      return Differs(absl::StrCat("devices[", i, "].held.gpu_milli"), name, d.held.gpu_milli,
                     counted.held.gpu_milli);
    }
    const DeviceFree& derived = nodes.device_free(slot)[i];
    const DeviceFree anew = FreeOf(counted, derived.model, nodes.mig().geometry(derived.model));
    if (derived.gpu_milli != anew.gpu_milli) {
      return Differs(absl::StrCat("devices[", i, "].free.gpu_milli"), name, derived.gpu_milli,
                     anew.gpu_milli);
    }
    if (derived.offers != anew.offers || derived.occupied != anew.occupied) {
      return Differs(absl::StrCat("devices[", i, "].occupied"), name, derived.occupied,
                     anew.occupied);
    }
    free[ResourceKind::kGpuMilli] += anew.gpu_milli;
    whole_free += (anew.offers & kOfferWhole) != 0 ? 1 : 0;
    if (derived.mem_mib != anew.mem_mib) {
      return Differs(absl::StrCat("devices[", i, "].free.gpu_mem_mib"), name, derived.mem_mib,
                     anew.mem_mib);
    }
    if (d.mem_tracked) free[ResourceKind::kGpuMemMib] += anew.mem_mib;
  }
  for (const ResourceKind kind : {ResourceKind::kCpuMilli, ResourceKind::kMemMib}) {
    free[kind] = std::max<std::int64_t>(0, nodes.capacity(slot)[kind] - nodes.used(slot)[kind] -
                                               nodes.held(slot)[kind] - nodes.foreign(slot)[kind]);
  }
  for (std::size_t i = 0; i < kResourceKinds; ++i) {
    const auto kind = static_cast<ResourceKind>(i);
    if (nodes.used(slot)[kind] != count.used[kind]) {
      return Differs(absl::StrCat("used ", std::string(ResourceName(kind))), name,
                     nodes.used(slot)[kind], count.used[kind]);
    }
    if (nodes.free(slot)[kind] != free[kind]) {
      return Differs(absl::StrCat("free ", std::string(ResourceName(kind))), name,
                     nodes.free(slot)[kind], free[kind]);
    }
  }
  if (nodes.whole_free(slot) != whole_free) {
    return Differs("whole_free", name, nodes.whole_free(slot), whole_free);
  }
  for (std::size_t kind = 0; kind < kTaskKinds; ++kind) {
    const std::uint32_t tasks = nodes.tasks(slot, static_cast<TaskKind>(kind));
    if (tasks != count.tasks[kind]) {
      return Differs(absl::StrCat("tasks of kind ", kind), name, tasks, count.tasks[kind]);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Resources SumRows(std::span<const Resources> rows) {
  using Columns = Eigen::Array<std::int64_t, kResourceKinds, Eigen::Dynamic>;
  Resources sum;
  if (rows.empty()) return sum;
  const Eigen::Map<const Columns> matrix(rows.front().amount.data(), kResourceKinds,
                                         static_cast<Eigen::Index>(rows.size()));
  Eigen::Map<Eigen::Array<std::int64_t, kResourceKinds, 1>>(sum.amount.data()) =
      matrix.rowwise().sum();
  return sum;
}

absl::Status Audit(const ClusterState& state) {
  const NodeTable& nodes = state.nodes();
  std::vector<Count> counts(nodes.slots());
  for (const std::uint32_t slot : nodes.order()) {
    for (DeviceLedger device : nodes.devices(slot)) {
      device.used = device.held = {};
      device.used_by = device.held_by = {};
      counts[slot].devices.push_back(device);
    }
  }
  // Adds what a placement takes of devices, as `used` or as `held`.
  const auto add = [&](const Placement& placement, const Shape& shape, bool held, Resources& sum) {
    std::vector<DeviceLedger>& devices = counts[placement.node.slot].devices;
    const auto on = [&](std::size_t i, const MigInstance* instance) {
      DeviceLedger& device = devices[i];
      const MigGeometry* const geometry =
          nodes.mig().geometry(nodes.device_free(placement.node.slot)[i].model);
      DeviceAmounts& amounts = held ? device.held : device.used;
      const DeviceAmounts before = amounts;
      AddTake(TakeOf(device, geometry, shape, instance), device, geometry, 1, amounts,
              held ? device.held_by : device.used_by);
      sum[ResourceKind::kGpuMilli] += amounts.gpu_milli - before.gpu_milli;
      sum[ResourceKind::kGpuMemMib] += amounts.mem_mib - before.mem_mib;
    };
    for (const MigInstance& instance : placement.instances) {
      on(static_cast<std::size_t>(instance.device), &instance);
    }
    if (!placement.instances.empty()) return;
    for (DeviceMask rest = placement.devices; !rest.empty(); rest.DropFirst()) {
      on(static_cast<std::size_t>(rest.First()), nullptr);
    }
  };
  for (const Hold& hold : state.holds().list()) {
    Resources unused;
    add(hold.placement, state.shapes()[hold.shape], /*held=*/true, unused);
  }
  for (std::uint32_t slot = 0; slot < state.tasks().slots(); ++slot) {
    if (!state.tasks().live(slot)) continue;
    const TaskRow& row = state.tasks()[slot];
    if (!nodes.Has(row.placement.node)) {
      return absl::InternalError(absl::StrCat("audit: task '",
                                              std::string(state.task_name(state.tasks().id(slot))),
                                              "' runs on a node that is not there"));
    }
    const Shape& shape = state.shapes()[row.shape];
    Count& count = counts[row.placement.node.slot];
    count.used[ResourceKind::kCpuMilli] += shape.cpu_milli;
    count.used[ResourceKind::kMemMib] += shape.mem_mib;
    ++count.tasks[static_cast<std::size_t>(shape.kind())];
    add(row.placement, shape, /*held=*/false, count.used);
  }
  for (const std::uint32_t slot : nodes.order()) {
    if (absl::Status status = AuditNode(state, slot, counts[slot]); !status.ok()) return status;
  }
  std::vector<Resources> capacities;
  for (const std::uint32_t slot : nodes.order()) capacities.push_back(nodes.capacity(slot));
  const Resources total = SumRows(capacities);
  for (std::size_t i = 0; i < kResourceKinds; ++i) {
    const auto kind = static_cast<ResourceKind>(i);
    if (state.capacity()[kind] != total[kind]) {
      return Differs(absl::StrCat("capacity ", std::string(ResourceName(kind))), "cluster",
                     state.capacity()[kind], total[kind]);
    }
  }
  return absl::OkStatus();
}

}  // namespace gpusched
