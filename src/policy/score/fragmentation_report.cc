#include "gpusched/policy/score/fragmentation_report.h"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "gpusched/base/quantity.h"

namespace gpusched {
namespace {

std::optional<double> Ratio(const Fragmentation& part, std::int64_t of_milli) {
  if (of_milli <= 0) return std::nullopt;
  return part.gpus() * static_cast<double>(kMilli) / static_cast<double>(of_milli);
}

}  // namespace

double Fragmentation::gpus() const {
  if (weight == 0) return 0;
  return static_cast<double>(fragment_weighted) / static_cast<double>(weight) /
         static_cast<double>(kMilli);
}

std::optional<double> Fragmentation::of_capacity() const { return Ratio(*this, capacity_milli); }

std::optional<double> Fragmentation::of_idle() const {
  if (idle_milli * 10 < capacity_milli) return std::nullopt;
  return Ratio(*this, idle_milli);
}

FragmentationReport MeasureFragmentation(const ClusterState& state, const FragmentTable& table) {
  FragmentationReport report;
  const std::int64_t weight = table.total_weight();
  report.cluster.weight = weight;
  std::map<std::string_view, Fragmentation> models;
  for (const std::uint32_t slot : state.nodes().order()) {
    const NodeView node = state.node(slot);
    Fragmentation& here = report.nodes.emplace_back();
    here.name = std::string(state.node_name(node.id()));
    here.weight = weight;
    const std::vector<std::int64_t> usable = table.UsableByDevice(node);
    for (std::size_t i = 0; i < node.devices().size(); ++i) {
      const DeviceFree& free = node.devices()[i];
      Fragmentation& model = models[state.models().name(free.model)];
      for (Fragmentation* sum : {&here, &model, &report.cluster}) {
        sum->capacity_milli += node.device_ledgers()[i].capacity.gpu_milli;
        sum->idle_milli += free.gpu_milli;
        sum->fragment_weighted += free.gpu_milli * weight - usable[i];
      }
    }
  }
  for (auto& [name, model] : models) {
    model.name = std::string(name);
    model.weight = weight;
    report.models.push_back(std::move(model));
  }
  return report;
}

}  // namespace gpusched
