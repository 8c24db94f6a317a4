#include "gpusched/state/name_table.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace gpusched {
namespace {

TEST(NameTable, BindsBothWays) {
  NameTable names;
  EXPECT_EQ(names.Find("a"), std::nullopt);
  EXPECT_EQ(names.name(5), "");
  names.Bind("a", 5);
  EXPECT_EQ(names.Find("a"), 5U);
  EXPECT_EQ(names.name(5), "a");
  EXPECT_EQ(names.name(4), "");
}

TEST(NameTable, AnUnboundNameIsFreeButStaysReadable) {
  NameTable names;
  names.Bind("a", 0);
  names.Unbind(0);
  EXPECT_EQ(names.Find("a"), std::nullopt);
  EXPECT_EQ(names.name(0), "a");
  names.Bind("a", 1);
  names.Unbind(1);
  names.Rebind(0);
  EXPECT_EQ(names.Find("a"), 0U);
  names.Unbind(0);
  names.Bind("b", 0);
  EXPECT_EQ(names.name(0), "b");
  EXPECT_EQ(names.Find("a"), std::nullopt);
}

TEST(NameTable, StaysRightWhileGrowingAndMoving) {
  NameTable names;
  for (std::uint32_t i = 0; i < 5'000; ++i) names.Bind("name-" + std::to_string(i), i);
  NameTable moved = std::move(names);
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    ASSERT_EQ(moved.Find("name-" + std::to_string(i)), i);
    ASSERT_EQ(moved.name(i), "name-" + std::to_string(i));
  }
}

}  // namespace
}  // namespace gpusched
