// MigGeometry: which MIG instances a device of some model can have, and where.
#ifndef GPUSCHED_SPEC_MIG_GEOMETRY_H_
#define GPUSCHED_SPEC_MIG_GEOMETRY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpusched/export.h"

namespace gpusched {

// Memory slices 0 to 7 of one device as bits. Also used for a set of starts.
using SliceMask = std::uint8_t;

inline constexpr std::int32_t kMaxMigSlices = 8;
inline constexpr std::size_t kMaxMigProfiles = 16;

// What one kind of instance takes and gives.
struct MigProfile {
  std::string name;  // "3g.20gb"
  std::int32_t compute_slices = 0;
  std::int32_t memory_slices = 0;
  std::int64_t mem_mib = 0;          // that a task in it can use
  std::vector<std::int32_t> starts;  // legal first memory slices, ascending
  // It comes with the media engines, which a device can give to one instance only ("+me").
  bool media_extensions = false;

  friend bool operator==(const MigProfile&, const MigProfile&) = default;
};

// A geometry as its owner describes it; models refer to it by name. Checked by Validate
// (spec/validate_model.h).
struct MigGeometrySpec {
  std::string name;                 // "A100-40GB"
  std::int32_t compute_slices = 7;  // of the whole device
  std::int32_t memory_slices = 8;
  std::vector<MigProfile> profiles;
  // Parts that are inferred rather than published: "mem_mib", "starts".
  std::vector<std::string> unsourced;

  friend bool operator==(const MigGeometrySpec&, const MigGeometrySpec&) = default;
};

// The same with an answer for each of the 256 sets of occupied slices, computed once. An instance
// takes `memory_slices` slices from its start on; instances never overlap. Source of the built-in
// ones: NVIDIA, "Multi-Instance GPU User Guide", supported profiles and their placements.
class GPUSCHED_EXPORT MigGeometry {
 public:
  // The spec has been validated.
  explicit MigGeometry(MigGeometrySpec spec);

  const MigGeometrySpec& spec() const { return spec_; }
  std::size_t profile_count() const { return spec_.profiles.size(); }
  const MigProfile& profile(std::size_t index) const { return spec_.profiles[index]; }
  // O(profiles).
  std::optional<std::size_t> FindProfile(std::string_view name) const;

  // Whether the profile may begin there.
  bool LegalStart(std::size_t profile, std::int32_t start) const {
    return start >= 0 && start < kMaxMigSlices && ((free_starts_[profile][0] >> start) & 1) != 0;
  }
  // The slices that an instance takes; legal starts only.
  SliceMask Footprint(std::size_t profile, std::int32_t start) const {
    return static_cast<SliceMask>(((1U << spec_.profiles[profile].memory_slices) - 1U) << start);
  }
  // The starts at which the profile overlaps nothing of what is occupied. O(1).
  SliceMask FreeStarts(std::size_t profile, SliceMask occupied) const {
    return free_starts_[profile][occupied];
  }
  // How much the free slices are good for: the number of free starts of each profile without media
  // extensions, the most valuable one (memory slices, then compute slices) as the leading digit. So
  // a set of slices that still takes a larger profile always has the higher value. O(1).
  std::int32_t Value(SliceMask occupied) const { return value_[occupied]; }
  // What one free start of the profile counts in it; 0 for one with media extensions.
  std::int32_t Unit(std::size_t profile) const { return unit_[profile]; }

 private:
  MigGeometrySpec spec_;
  std::vector<std::array<SliceMask, 256>> free_starts_;  // by profile, then occupied slices
  std::vector<std::int32_t> unit_;                       // by profile
  std::array<std::int32_t, 256> value_{};
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_MIG_GEOMETRY_H_
