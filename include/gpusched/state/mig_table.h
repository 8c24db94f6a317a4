// MigTable: the MIG geometry of each model of a state, and the profiles that shapes have named.
#ifndef GPUSCHED_STATE_MIG_TABLE_H_
#define GPUSCHED_STATE_MIG_TABLE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpusched/spec/mig_geometry.h"
#include "gpusched/state/model_table.h"

namespace gpusched {

// By index of the model (ModelTable), so that the hot path compares no names.
class MigTable {
 public:
  // Null: the model can't be partitioned.
  const MigGeometry* geometry(std::uint32_t model) const { return geometry_[model].get(); }
  // The profile's index in the model's geometry; −1: it has none of that name.
  int ProfileIn(std::uint32_t model, std::int32_t profile) const {
    return index_[static_cast<std::size_t>(profile)][model];
  }
  std::string_view profile_name(std::int32_t profile) const {
    return names_[static_cast<std::size_t>(profile)];
  }

  // --- writing (Transaction and ClusterState::Intern only) -----------------------------------
  void SetModel(std::uint32_t model, std::shared_ptr<const MigGeometry> geometry) {
    geometry_[model] = std::move(geometry);
    for (std::size_t p = 0; p < names_.size(); ++p) index_[p][model] = IndexIn(model, names_[p]);
  }
  // The index of a profile's name, given out now if it is new.
  std::int32_t InternProfile(std::string_view name) {
    const auto it = std::find(names_.begin(), names_.end(), name);
    const auto at = static_cast<std::int32_t>(it - names_.begin());
    if (it != names_.end()) return at;
    names_.emplace_back(name);
    index_.emplace_back();
    for (std::uint32_t model = 0; model < kMaxModels; ++model) {
      index_.back()[model] = IndexIn(model, name);
    }
    return at;
  }

 private:
  std::int8_t IndexIn(std::uint32_t model, std::string_view name) const {
    const MigGeometry* const geometry = geometry_[model].get();
    const auto found = geometry == nullptr ? std::nullopt : geometry->FindProfile(name);
    return found ? static_cast<std::int8_t>(*found) : std::int8_t{-1};
  }

  std::array<std::shared_ptr<const MigGeometry>, kMaxModels> geometry_;
  std::vector<std::string> names_;
  std::vector<std::array<std::int8_t, kMaxModels>> index_;  // by profile, then model
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_MIG_TABLE_H_
