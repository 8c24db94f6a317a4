#include "gpusched/policy/lane_mask.h"

#include <gtest/gtest.h>

#include <vector>

namespace gpusched {
namespace {

std::vector<std::size_t> Lanes(const LaneMask& mask) {
  std::vector<std::size_t> lanes;
  mask.ForEach([&](std::size_t lane) { lanes.push_back(lane); });
  return lanes;
}

TEST(LaneMask, IsASetOfLanes) {
  LaneMask a;
  EXPECT_TRUE(a.empty());
  for (const std::size_t lane : {255U, 0U, 64U, 63U, 200U}) a.Insert(lane);
  EXPECT_EQ(Lanes(a), (std::vector<std::size_t>{0, 63, 64, 200, 255}));
  a.Remove(64);
  EXPECT_FALSE(a.contains(64));
  EXPECT_TRUE(a.contains(255));
  LaneMask b;
  b.Insert(0);
  b.Insert(1);
  EXPECT_EQ(Lanes(a & b), (std::vector<std::size_t>{0}));
  EXPECT_EQ(Lanes(b - a), (std::vector<std::size_t>{1}));
  EXPECT_EQ(Lanes(a | b), (std::vector<std::size_t>{0, 1, 63, 200, 255}));
  b.Remove(0);
  b.Remove(1);
  EXPECT_EQ(b, LaneMask());
}

}  // namespace
}  // namespace gpusched
