#include "gpusched/spec/mig_geometry.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gpusched {

MigGeometry::MigGeometry(MigGeometrySpec spec) : spec_(std::move(spec)) {
  free_starts_.resize(profile_count());
  for (std::size_t p = 0; p < profile_count(); ++p) {
    for (unsigned occupied = 0; occupied < 256; ++occupied) {
      unsigned starts = 0;
      for (const std::int32_t start : profile(p).starts) {
        if ((Footprint(p, start) & occupied) == 0) starts |= 1U << start;
      }
      free_starts_[p][occupied] = static_cast<SliceMask>(starts);
    }
  }

  std::vector<std::size_t> by_value;  // the least valuable first
  for (std::size_t p = 0; p < profile_count(); ++p) {
    if (!profile(p).media_extensions) by_value.push_back(p);
  }
  std::stable_sort(by_value.begin(), by_value.end(), [&](std::size_t a, std::size_t b) {
    const MigProfile& x = profile(a);
    const MigProfile& y = profile(b);
    return x.memory_slices != y.memory_slices ? x.memory_slices < y.memory_slices
                                              : x.compute_slices < y.compute_slices;
  });
  unit_.assign(profile_count(), 0);
  std::int32_t unit = 1;
  for (const std::size_t p : by_value) {
    unit_[p] = unit;
    unit *= static_cast<std::int32_t>(profile(p).starts.size()) + 1;
  }
  for (unsigned occupied = 0; occupied < 256; ++occupied) {
    for (const std::size_t p : by_value) {
      value_[occupied] += unit_[p] * std::popcount(free_starts_[p][occupied]);
    }
  }
}

std::optional<std::size_t> MigGeometry::FindProfile(std::string_view name) const {
  for (std::size_t i = 0; i < profile_count(); ++i) {
    if (profile(i).name == name) return i;
  }
  return std::nullopt;
}

}  // namespace gpusched
