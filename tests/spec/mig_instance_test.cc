#include "gpusched/spec/mig_instance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gpusched {
namespace {

TEST(MigInstance, IsOrderedByDeviceThenStart) {
  std::vector<MigInstance> instances = {{1, "3g.20gb", 4}, {1, "4g.20gb", 0}, {0, "1g.5gb", 6}};
  std::sort(instances.begin(), instances.end(), Before);
  EXPECT_EQ(instances,
            (std::vector<MigInstance>{{0, "1g.5gb", 6}, {1, "4g.20gb", 0}, {1, "3g.20gb", 4}}));
}

// Two instances never begin at the same slice of a device, so the profile decides nothing.
TEST(MigInstance, TheOrderLeavesTheProfileOut) {
  const MigInstance small{0, "1g.5gb", 0};
  const MigInstance large{0, "4g.20gb", 0};
  EXPECT_FALSE(Before(small, large));
  EXPECT_FALSE(Before(large, small));
  EXPECT_FALSE(Before(small, small));
}

TEST(MigInstance, EveryPartCountsForEquality) {
  EXPECT_EQ((MigInstance{0, "1g.5gb", 6}), (MigInstance{0, "1g.5gb", 6}));
  EXPECT_NE((MigInstance{0, "1g.5gb", 6}), (MigInstance{1, "1g.5gb", 6}));
  EXPECT_NE((MigInstance{0, "1g.5gb", 6}), (MigInstance{0, "1g.5gb+me", 6}));
  EXPECT_NE((MigInstance{0, "1g.5gb", 6}), (MigInstance{0, "1g.5gb", 5}));
  EXPECT_EQ((MigPartition{"1g.5gb", 6}), (MigPartition{"1g.5gb", 6}));
  EXPECT_NE((MigPartition{"1g.5gb", 6}), (MigPartition{"1g.10gb", 6}));
  EXPECT_NE((MigPartition{"1g.5gb", 6}), (MigPartition{"1g.5gb", 0}));
}

}  // namespace
}  // namespace gpusched
