#include "gpusched/sim/openb.h"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gpusched/base/device_mask.h"
#include "gpusched/spec/field_error.h"
#include "gpusched/spec/validate.h"

namespace gpusched {
namespace {

// Refuses a name that is empty or was there before.
class UniqueNames {
 public:
  absl::Status Add(const CsvTable& table, std::size_t row, std::size_t column,
                   std::string_view field) {
    const std::string& name = table.text(row, column);
    const std::string where = table.Where(row, column);
    if (name.empty()) return InvalidField(where, field, "''", "give it a unique name");
    if (seen_.insert(name).second) return absl::OkStatus();
    return FieldError(absl::StatusCode::kAlreadyExists, where, field, Quoted(name),
                      "an earlier line has this name; names must be unique");
  }

 private:
  absl::flat_hash_set<std::string> seen_;
};

absl::Status At(const CsvTable& table, std::size_t row, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(table.Where(row), ": ", status.message()));
}

template <std::size_t N>
absl::StatusOr<std::array<std::size_t, N>> RequireAll(
    const CsvTable& table, const std::array<std::string_view, N>& names) {
  std::array<std::size_t, N> columns{};
  for (std::size_t i = 0; i < N; ++i) {
    const auto column = table.Require(names[i]);
    if (!column.ok()) return column.status();
    columns[i] = *column;
  }
  return columns;
}

// The whole numbers of one row at the given columns.
template <std::size_t N>
absl::StatusOr<std::array<std::int64_t, N>> Numbers(const CsvTable& table, std::size_t row,
                                                    const std::array<std::size_t, N>& columns) {
  std::array<std::int64_t, N> numbers{};
  for (std::size_t i = 0; i < N; ++i) {
    const auto number = table.Quantity(row, columns[i]);
    if (!number.ok()) return number.status();
    numbers[i] = *number;
  }
  return numbers;
}

}  // namespace

absl::StatusOr<std::vector<NodeSpec>> OpenbNodes(const CsvTable& table) {
  const auto name = table.Require("sn");
  if (!name.ok()) return name.status();
  const auto model = table.Require("model");
  if (!model.ok()) return model.status();
  const auto columns = RequireAll<3>(table, {"cpu_milli", "memory_mib", "gpu"});
  if (!columns.ok()) return columns.status();

  UniqueNames names;
  std::vector<NodeSpec> nodes;
  nodes.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GPUSCHED_RETURN_IF_ERROR(names.Add(table, row, *name, "sn"));
    const auto numbers = Numbers<3>(table, row, *columns);
    if (!numbers.ok()) return numbers.status();
    const auto [cpu_milli, mem_mib, gpus] = *numbers;
    if (gpus > kMaxDevicesPerNode) {
      return InvalidField(table.Where(row, columns->back()), "gpu", absl::StrCat(gpus),
                          absl::StrCat("use 0 to ", kMaxDevicesPerNode));
    }
    const std::string& model_name = table.text(row, *model);
    if (gpus > 0 && model_name.empty()) {
      return InvalidField(table.Where(row, *model), "model", "''",
                          "name the model of the node's GPUs");
    }
    NodeSpec node{
        .name = table.text(row, *name), .cpu_milli = cpu_milli, .mem_mib = mem_mib, .devices = {}};
    node.devices.assign(static_cast<std::size_t>(gpus),
                        DeviceSpec{.model = model_name, .gpu_mem_mib = std::nullopt});
    ModelCatalog catalog;
    catalog.DeclareOpaque(model_name);
    GPUSCHED_RETURN_IF_ERROR(At(table, row, Validate(node, catalog)));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

absl::StatusOr<std::vector<Pod>> OpenbPods(const CsvTable& table) {
  const auto name = table.Require("name");
  if (!name.ok()) return name.status();
  const auto columns = RequireAll<4>(table, {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli"});
  if (!columns.ok()) return columns.status();
  const auto models = table.Find("gpu_spec");

  UniqueNames names;
  std::vector<Pod> pods;
  pods.reserve(table.rows());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    GPUSCHED_RETURN_IF_ERROR(names.Add(table, row, *name, "name"));
    const auto numbers = Numbers<4>(table, row, *columns);
    if (!numbers.ok()) return numbers.status();
    const auto [cpu_milli, mem_mib, gpu_count, gpu_milli] = *numbers;
    Pod pod{.name = table.text(row, *name),
            .shape = {.cpu_milli = cpu_milli,
                      .mem_mib = mem_mib,
                      .gpu_count = gpu_count,
                      .gpu_milli = gpu_milli,
                      .models = {}}};
    if (models && !table.text(row, *models).empty()) {
      pod.shape.models = absl::StrSplit(table.text(row, *models), '|');
      for (const std::string& model : pod.shape.models) {
        if (!model.empty()) continue;
        return InvalidField(table.Where(row, *models), "gpu_spec", Quoted(table.text(row, *models)),
                            "name a model on each side of a bar");
      }
    }
    ModelCatalog catalog;
    for (const std::string& model : pod.shape.models) catalog.DeclareOpaque(model);
    GPUSCHED_RETURN_IF_ERROR(At(table, row, Validate(pod.shape, catalog)));
    pods.push_back(std::move(pod));
  }
  return pods;
}

absl::StatusOr<Workload> ReadOpenb(const std::string& nodes_csv, const std::string& pods_csv) {
  const auto node_table = CsvTable::Read(nodes_csv);
  if (!node_table.ok()) return node_table.status();
  auto nodes = OpenbNodes(*node_table);
  if (!nodes.ok()) return nodes.status();
  const auto pod_table = CsvTable::Read(pods_csv);
  if (!pod_table.ok()) return pod_table.status();
  auto pods = OpenbPods(*pod_table);
  if (!pods.ok()) return pods.status();

  Workload workload{.nodes_source = nodes_csv,
                    .pods_source = pods_csv,
                    .catalog = {},
                    .nodes = *std::move(nodes),
                    .pods = *std::move(pods)};
  for (const NodeSpec& node : workload.nodes) {
    if (!node.devices.empty()) workload.catalog.DeclareOpaque(node.devices.front().model);
  }
  for (const Pod& pod : workload.pods) {
    for (const std::string& model : pod.shape.models) workload.catalog.DeclareOpaque(model);
  }
  return workload;
}

}  // namespace gpusched
