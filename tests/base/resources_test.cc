#include "gpusched/base/resources.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace gpusched {
namespace {

TEST(Resources, StartsAtZeroAndIndexesByKind) {
  Resources resources;
  for (const std::int64_t amount : resources.amount) EXPECT_EQ(amount, 0);
  resources[ResourceKind::kGpuMilli] = 500;
  EXPECT_EQ(resources.amount[2], 500);
  Resources other;
  EXPECT_NE(resources, other);
  other[ResourceKind::kGpuMilli] = 500;
  EXPECT_EQ(resources, other);
}

TEST(Resources, NamesAreThoseOfTheSpecs) {
  EXPECT_EQ(ResourceName(ResourceKind::kCpuMilli), "cpu_milli");
  EXPECT_EQ(ResourceName(ResourceKind::kMemMib), "mem_mib");
  EXPECT_EQ(ResourceName(ResourceKind::kGpuMilli), "gpu_milli");
  EXPECT_EQ(ResourceName(ResourceKind::kGpuMemMib), "gpu_mem_mib");
  EXPECT_EQ(ResourceName(ResourceKind::kNetMbps), "net_mbps");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kResourceKinds; ++i) {
    names.insert(ResourceName(static_cast<ResourceKind>(i)));
  }
  EXPECT_EQ(names.size(), kResourceKinds);
  EXPECT_EQ(names.count(""), 0U);
}

}  // namespace
}  // namespace gpusched
