#include "gpusched/engine/blocked_starts.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// More than anybody reads; the list itself has all.
constexpr std::size_t kMostStartsShown = 4;

// Adds what a task or hold has of the slices.
void AddBlockers(const std::string& name, const Placement& placement, std::int32_t device,
                 const MigGeometry& geometry, SliceMask slices, std::vector<StartBlocker>& by) {
  if (placement.instances.empty()) {
    if (placement.devices.contains(device)) by.push_back({.name = name, .profile = {}});
    return;
  }
  for (const MigInstance& instance : placement.instances) {
    if (instance.device != device) continue;
    const auto profile = geometry.FindProfile(instance.profile);
    const bool known = profile && geometry.LegalStart(*profile, instance.start);
    if (known && (geometry.Footprint(*profile, instance.start) & slices) == 0) continue;
    by.push_back({.name = name, .profile = instance.profile, .start = instance.start});
  }
}

}  // namespace

std::vector<BlockedStart> BlockedStarts(const ClusterState& state, NodeId node,
                                        const Shape& shape) {
  std::vector<BlockedStart> blocked;
  if (!shape.asks_profile() || !state.nodes().Has(node)) return blocked;
  const NodeView view = state.node(node.slot);
  for (std::size_t i = 0; i < view.devices().size(); ++i) {
    const std::uint32_t model = view.devices()[i].model;
    const int profile = view.mig().ProfileIn(model, shape.profile);
    if (profile < 0 || ((shape.models >> model) & 1) == 0) continue;
    const MigGeometry& geometry = *view.geometry(i);
    const auto index = static_cast<std::size_t>(profile);
    const auto device = static_cast<std::int32_t>(i);
    for (const std::int32_t start : geometry.profile(index).starts) {
      BlockedStart entry{.device = device, .start = start, .by = {}};
      const SliceMask slices = geometry.Footprint(index, start);
      for (const std::uint32_t task : state.tasks().on_node(node.slot)) {
        AddBlockers(std::string(state.task_name(state.tasks().id(task))),
                    state.tasks()[task].placement, device, geometry, slices, entry.by);
      }
      for (const Hold& hold : state.holds().list()) {
        if (hold.placement.node != node) continue;
        AddBlockers(hold.name, hold.placement, device, geometry, slices, entry.by);
      }
      if (entry.by.empty()) continue;
      std::sort(entry.by.begin(), entry.by.end(), [](const StartBlocker& a, const StartBlocker& b) {
        return std::tie(a.start, a.name) < std::tie(b.start, b.name);
      });
      blocked.push_back(std::move(entry));
    }
  }
  return blocked;
}

std::string BlockedStartsText(const std::vector<BlockedStart>& starts) {
  std::string text;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (i == kMostStartsShown) {
      absl::StrAppend(&text, "; and ", starts.size() - i, " more starts");
      break;
    }
    const BlockedStart& entry = starts[i];
    if (i == 0 || entry.device != starts[i - 1].device) {
      absl::StrAppend(&text, i == 0 ? "" : "; ", "device ", entry.device, ":");
    } else {
      absl::StrAppend(&text, ",");
    }
    absl::StrAppend(&text, " start ", entry.start, " is taken by ");
    for (std::size_t b = 0; b < entry.by.size(); ++b) {
      const StartBlocker& blocker = entry.by[b];
      absl::StrAppend(&text, b == 0 ? "" : (b + 1 == entry.by.size() ? " and " : ", "),
                      Quoted(blocker.name));
      if (!blocker.profile.empty()) {
        absl::StrAppend(&text, " (", blocker.profile, " at ", blocker.start, ")");
      }
    }
  }
  return text;
}

}  // namespace gpusched
