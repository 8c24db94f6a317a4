// Details: what StateHash leaves out, and a decision depends on all the same.
#ifndef GPUSCHED_TESTS_STATE_STATE_DETAILS_H_
#define GPUSCHED_TESTS_STATE_STATE_DETAILS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "gpusched/state/cluster_state.h"

namespace gpusched {

// Orders, lost devices, counters, as text.
inline std::string Details(const ClusterState& state) {
  std::string text;
  const auto add = [&](auto number) { text += std::to_string(number) + " "; };
  for (const std::uint32_t slot : state.nodes().order()) {
    text += std::string(state.node_name(state.nodes().id(slot))) + ": ";
    add(state.nodes().declared_devices(slot));
    add(state.nodes().models(slot));
    const auto devices = state.nodes().devices(slot);
    add(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const bool used = devices[i].used != DeviceAmounts{} || devices[i].held != DeviceAmounts{};
      const bool lost = i >= state.nodes().declared_devices(slot);
      // Of a lost device that nobody is on, only that it is listed matters.
      if (used || !lost) add(state.nodes().device_free(slot)[i].model);
    }
  }
  for (const Hold& hold : state.holds().list()) text += hold.name + " ";
  add(state.jobs().size());
  add(state.jobs().with_anti_affinity());
  add(state.jobs().next_sequence());
  for (std::uint32_t slot = 0; slot < state.jobs().slots(); ++slot) {
    if (!state.jobs().live(slot)) continue;
    const JobRow& row = state.jobs()[slot];
    text += row.spec.name + ": ";
    add(row.sequence);
    add(row.first_attempt);
    for (const GroupState& group : row.groups) {
      add(group.shape.slot);
      add(group.count);
      add(group.min_available);
      for (const std::int64_t count : group.wanted) add(count);
      add(group.surplus_placed);
      add(group.surplus_finished);
      for (const TaskState& task : group.tasks) add(task.ledger.slot);
    }
  }
  return text;
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_STATE_STATE_DETAILS_H_
