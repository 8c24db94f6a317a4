#include "gpusched/policy/score/target_workload.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

auto RequestKey(const TargetShape& shape) {
  return std::tie(shape.cpu_milli, shape.gpu_milli, shape.gpu_count, shape.models,
                  shape.gpu_mem_mib, shape.mig_profile);
}

std::vector<std::string> SortedOnce(std::vector<std::string> models) {
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

}  // namespace

TargetWorkload TargetWorkload::FromRequests(std::span<const ShapeSpec> requests,
                                            int popularity_pct) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::vector<std::string>,
                         std::int64_t, std::string>;
  std::map<Key, std::int64_t> counts;
  for (const ShapeSpec& request : requests) {
    ++counts[{request.cpu_milli, request.gpu_milli, request.gpu_count, SortedOnce(request.models),
              request.gpu_mem_mib, request.mig_profile}];
  }
  std::vector<TargetShape> all;
  all.reserve(counts.size());
  for (const auto& [key, count] : counts) {
    const auto& [cpu, milli, devices, models, memory, profile] = key;
    all.push_back({cpu, milli, devices, models, count, memory, profile});
  }
  std::sort(all.begin(), all.end(), [](const TargetShape& a, const TargetShape& b) {
    return a.count != b.count ? a.count > b.count : RequestKey(a) > RequestKey(b);
  });

  TargetWorkload target;
  const auto wanted = static_cast<std::int64_t>(requests.size()) * popularity_pct;
  for (TargetShape& shape : all) {
    if (target.total_ * 100 >= wanted) break;
    target.total_ += shape.count;
    target.shapes_.push_back(std::move(shape));
  }
  return target;
}

absl::StatusOr<TargetWorkload> TargetWorkload::FromShapes(std::vector<TargetShape> shapes) {
  TargetWorkload target;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    TargetShape& shape = shapes[i];
    if (shape.count < 1 || shape.count > kMaxWeight - target.total_) {
      return InvalidField(
          "target", absl::StrCat("shapes[", i, "].count"), absl::StrCat(shape.count),
          absl::StrCat("use at least 1, and at most ", kMaxWeight, " over all shapes"));
    }
    shape.models = SortedOnce(std::move(shape.models));
    target.total_ += shape.count;
  }
  for (TargetShape& shape : shapes) {
    const auto same = std::find_if(
        target.shapes_.begin(), target.shapes_.end(),
        [&](const TargetShape& other) { return RequestKey(other) == RequestKey(shape); });
    if (same != target.shapes_.end()) {
      same->count += shape.count;
    } else {
      target.shapes_.push_back(std::move(shape));
    }
  }
  return target;
}

}  // namespace gpusched
