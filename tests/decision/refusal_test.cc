#include "gpusched/decision/refusal.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(Refusal, CountsByReasonAndNamesTheDominantOne) {
  Refusal refusal;
  EXPECT_EQ(refusal.count(Reason::kInsufficientCpu), 0U);
  EXPECT_EQ(refusal.dominant(), Reason::kNone);
  refusal.nodes_by_reason[2] = 7;
  refusal.shortfall.verdict = Verdict::Wait(Reason::kNoDeviceWithRoom);
  EXPECT_EQ(refusal.count(Reason::kInsufficientCpu), 7U);
  EXPECT_EQ(refusal.dominant(), Reason::kNoDeviceWithRoom);
}

}  // namespace
}  // namespace gpusched
