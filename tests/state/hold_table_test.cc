#include "gpusched/state/hold_table.h"

#include <gtest/gtest.h>

#include <string>

namespace gpusched {
namespace {

Hold Named(std::string name) {
  Hold hold;
  hold.name = std::move(name);
  return hold;
}

std::string Names(const HoldTable& holds) {
  std::string names;
  for (const Hold& hold : holds.list()) names += hold.name;
  return names;
}

TEST(HoldTable, IsFoundByName) {
  HoldTable holds;
  EXPECT_FALSE(holds.Find("a").has_value());
  holds.Insert(0, Named("a"));
  holds.Insert(1, Named("b"));
  EXPECT_EQ(holds.Find("a"), 0U);
  EXPECT_EQ(holds.Find("b"), 1U);
  EXPECT_FALSE(holds.Find("c").has_value());
}

TEST(HoldTable, WhatIsPutBackStandsWhereItStood) {
  HoldTable holds;
  for (const char* name : {"a", "b", "c"}) holds.Insert(holds.list().size(), Named(name));
  Hold taken = holds.Remove(1);
  EXPECT_EQ(taken.name, "b");
  EXPECT_EQ(Names(holds), "ac");
  EXPECT_EQ(holds.Find("c"), 1U);
  holds.Insert(1, std::move(taken));
  EXPECT_EQ(Names(holds), "abc");
}

TEST(Hold, NeverExpiresUnlessItIsSaid) { EXPECT_EQ(Hold().until, kNoDeadline); }

}  // namespace
}  // namespace gpusched
