#include "gpusched/spec/sharing_mode.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace gpusched {
namespace {

// Stable: journals, files and Python have them.
TEST(SharingMode, HasAStableName) {
  EXPECT_EQ(SharingModeName(SharingMode::kExclusive), "exclusive");
  EXPECT_EQ(SharingModeName(SharingMode::kFraction), "fraction");
  EXPECT_EQ(SharingModeName(SharingMode::kMps), "mps");
  EXPECT_EQ(SharingModeName(SharingMode::kTimeSlicing), "time_slicing");
  EXPECT_EQ(SharingModeName(SharingMode::kMig), "mig");
}

TEST(SharingMode, NamesAreAsManyAsModes) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kSharingModes; ++i) {
    names.insert(SharingModeName(static_cast<SharingMode>(i)));
  }
  EXPECT_EQ(names.size(), kSharingModes);
  EXPECT_EQ(names.count(""), 0U);
}

// The MPS server gives each client a part of the compute units, but one memory; who takes turns
// shares everything.
TEST(SharingMode, OnlyReplicasAreNotIsolated) {
  for (std::size_t i = 0; i < kSharingModes; ++i) {
    const auto mode = static_cast<SharingMode>(i);
    const bool replicas = mode == SharingMode::kMps || mode == SharingMode::kTimeSlicing;
    EXPECT_EQ(HasReplicas(mode), replicas) << SharingModeName(mode);
    EXPECT_EQ(SharesWithoutIsolation(mode), replicas) << SharingModeName(mode);
  }
}

static_assert(HasReplicas(SharingMode::kMps), "known when compiling");

}  // namespace
}  // namespace gpusched
