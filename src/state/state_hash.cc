#include "gpusched/state/state_hash.h"

#include <cstddef>
#include <string_view>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {
namespace {

void AddAmounts(Digest& digest, const DeviceAmounts& amounts) {
  digest.AddNumber(amounts.gpu_milli).AddNumber(amounts.mem_mib);
}

std::uint64_t NodeHash(const ClusterState& state, std::uint32_t slot) {
  const NodeTable& nodes = state.nodes();
  Digest digest;
  digest.AddField("node").AddField(state.node_name(nodes.id(slot)));
  for (const Resources* row : {&nodes.capacity(slot), &nodes.held(slot), &nodes.foreign(slot)}) {
    for (const std::int64_t amount : row->amount) digest.AddNumber(amount);
  }
  const auto ledgers = nodes.devices(slot);
  const auto free = nodes.device_free(slot);
  for (std::size_t i = 0; i < ledgers.size(); ++i) {
    digest.AddField(state.models().name(free[i].model));
    digest.AddNumber(ledgers[i].mem_tracked ? 1 : 0);
    AddAmounts(digest, ledgers[i].capacity);
    AddAmounts(digest, ledgers[i].held);
    AddAmounts(digest, ledgers[i].foreign);
  }
  return Mix64(digest.value());
}

// A set of models is hashed as a sum over names: their bits depend on who was first.
std::int64_t ModelsHash(const ClusterState& state, ModelMask models) {
  if (models == kAnyModel) return 0;
  std::uint64_t sum = 1;
  for (std::uint32_t i = 0; i < state.models().size(); ++i) {
    if (((models >> i) & 1) == 0) continue;
    sum += Mix64(Digest().AddField(state.models().name(i)).value());
  }
  return static_cast<std::int64_t>(sum);
}

std::uint64_t TaskHash(const ClusterState& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks()[slot];
  const Shape& shape = state.shapes()[row.shape];
  Digest digest;
  digest.AddField("task").AddField(state.task_name(state.tasks().id(slot)));
  digest.AddNumber(shape.cpu_milli).AddNumber(shape.mem_mib).AddNumber(shape.gpu_mem_mib);
  digest.AddNumber(shape.gpu_milli).AddNumber(shape.gpu_count);
  digest.AddNumber(ModelsHash(state, shape.models));
  digest.AddField(state.node_name(row.placement.node));
  digest.AddNumber(static_cast<std::int64_t>(row.placement.devices.bits()));
  return Mix64(digest.value());
}

}  // namespace

std::uint64_t StateHash(const ClusterState& state) {
  // A sum does not depend on the order of its terms, so neither does the hash.
  std::uint64_t sum = 0;
  for (const std::uint32_t slot : state.nodes().order()) sum += NodeHash(state, slot);
  for (std::uint32_t slot = 0; slot < state.tasks().slots(); ++slot) {
    if (state.tasks().live(slot)) sum += TaskHash(state, slot);
  }
  return sum;
}

}  // namespace gpusched
