#include "gpusched/base/device_mask.h"

#include <gtest/gtest.h>

#include <set>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

TEST(DeviceMask, StartsEmpty) {
  EXPECT_TRUE(DeviceMask().empty());
  EXPECT_EQ(DeviceMask().size(), 0);
}

TEST(DeviceMask, HoldsTheFirstAndTheLastDevice) {
  DeviceMask mask = DeviceMask::Of(kMaxDevicesPerNode - 1);
  mask.Insert(0);
  mask.Insert(0);
  EXPECT_EQ(mask.size(), 2);
  EXPECT_EQ(mask.bits(), 0x8000000000000001ULL);
  EXPECT_TRUE(mask.contains(0));
  EXPECT_TRUE(mask.contains(63));
  EXPECT_FALSE(mask.contains(62));
  EXPECT_EQ(mask, DeviceMask(0x8000000000000001ULL));
}

TEST(DeviceMask, IteratesLikeASortedSet) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    DeviceMask mask;
    std::set<int> reference;
    for (std::uint64_t i = rng.Below(70); i > 0; --i) {
      const int device = static_cast<int>(rng.Below(kMaxDevicesPerNode));
      mask.Insert(device);
      reference.insert(device);
    }
    ASSERT_EQ(mask.size(), static_cast<int>(reference.size()));
    for (int device = 0; device < kMaxDevicesPerNode; ++device) {
      ASSERT_EQ(mask.contains(device), reference.count(device) == 1);
    }
    for (const int device : reference) {
      ASSERT_FALSE(mask.empty());
      ASSERT_EQ(mask.First(), device);
      mask.DropFirst();
    }
    ASSERT_TRUE(mask.empty());
  }
}

}  // namespace
}  // namespace gpusched
