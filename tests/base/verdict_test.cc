#include "gpusched/base/verdict.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(Verdict, TellsOkFromWaitFromNever) {
  EXPECT_TRUE(Verdict().ok());
  EXPECT_EQ(Verdict(), Verdict::Ok());
  const Verdict wait = Verdict::Wait(Reason::kInsufficientCpu);
  const Verdict never = Verdict::Never(Reason::kInsufficientCpu);
  EXPECT_FALSE(wait.ok());
  EXPECT_FALSE(never.ok());
  EXPECT_NE(wait, never);
  EXPECT_EQ(never.outcome, Outcome::kNever);
  EXPECT_EQ(never.reason, Reason::kInsufficientCpu);
}

// The texts and numbers appear in files and messages, so they never change.
TEST(Verdict, ReasonNamesAreStable) {
  EXPECT_EQ(ReasonName(Reason::kNone), "None");
  EXPECT_EQ(ReasonName(Reason::kModelNotAllowed), "ModelNotAllowed");
  EXPECT_EQ(ReasonName(Reason::kInsufficientCpu), "InsufficientCpu");
  EXPECT_EQ(ReasonName(Reason::kInsufficientMemory), "InsufficientMemory");
  EXPECT_EQ(ReasonName(Reason::kNoDeviceWithRoom), "NoDeviceWithRoom");
  EXPECT_EQ(ReasonName(Reason::kTooFewWholeDevices), "TooFewWholeDevices");
  EXPECT_EQ(ReasonName(Reason::kFilteredByUser), "FilteredByUser");
  EXPECT_EQ(ReasonName(Reason::kNoNodes), "NoNodes");
  EXPECT_EQ(ReasonName(Reason::kInsufficientGpuMemory), "InsufficientGpuMemory");
  EXPECT_EQ(ReasonName(Reason::kCordoned), "Cordoned");
  EXPECT_EQ(ReasonName(Reason::kTooManyTasksOnNode), "TooManyTasksOnNode");
  EXPECT_EQ(ReasonName(Reason::kAffinity), "Affinity");
  EXPECT_EQ(ReasonName(Reason::kAntiAffinity), "AntiAffinity");
  EXPECT_EQ(ReasonName(Reason::kGangDoesNotFit), "GangDoesNotFit");
  EXPECT_EQ(ReasonName(Reason::kBehindInPool), "BehindInPool");
  EXPECT_EQ(ReasonName(Reason::kJobGroupIncomplete), "JobGroupIncomplete");
  EXPECT_EQ(ReasonName(Reason::kBeingReleased), "BeingReleased");
  EXPECT_EQ(ReasonName(Reason::kNoMigPlacement), "NoMigPlacement");
  EXPECT_EQ(ReasonName(Reason::kSharingNotOffered), "SharingNotOffered");
  EXPECT_EQ(static_cast<std::size_t>(Reason::kSharingNotOffered) + 1, kReasons);
}

}  // namespace
}  // namespace gpusched
