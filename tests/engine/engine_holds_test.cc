// Holds: capacity that is kept for a job, until it is placed or its time is over.
#include <gtest/gtest.h>

#include <string>

#include "engine/engine_fixture.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

class HoldTest : public testing::Test {
 protected:
  HoldTest() { world.Node(GpuNode("a", 2)); }

  void Hold(std::string owner, DeviceMask devices, Time until = kNoDeadline) {
    world.Tell(HoldOf("h", std::move(owner), "a", WholeGpus(devices.size()), devices, until));
  }
  std::size_t holds() const { return world.engine.state().holds().list().size(); }

  TestEngine world;
};

TEST_F(HoldTest, OthersMayNotUseWhatIsHeld) {
  Hold("owner", Devices({0, 1}));
  world.Submit(Gang("other", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "other waits TooFewWholeDevices");
  EXPECT_EQ(holds(), 1U);
}

TEST_F(HoldTest, TheOwnerMayAndThenTheHoldIsOver) {
  Hold("owner", Devices({0, 1}));
  world.Submit(Gang("owner", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "owner/main/0@a, owner/main/1@a");
  EXPECT_EQ(holds(), 0U);
  EXPECT_EQ(world.engine.state().nodes().held(0), Resources());
}

TEST_F(HoldTest, WhatTheOwnerDidNotUseIsOpenToOthersInTheSameCycle) {
  Hold("owner", Devices({0, 1}));
  world.Submit(Gang("before", 1, WholeGpus(1)));
  world.Submit(Gang("owner", 1, WholeGpus(1)));
  world.Submit(Gang("after", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "before waits TooFewWholeDevices, owner/main/0@a, after/main/0@a");
}

TEST_F(HoldTest, IsOverAlsoIfTheOwnerIsPlacedElsewhere) {
  world.Node(GpuNode("b", 1));
  world.Submit(Gang("filler", 1, WholeGpus(1)));
  Hold("owner", Devices({0}));
  world.Submit(Gang("owner", 1, WholeGpus(1)));
  world.Cycle();
  EXPECT_EQ(holds(), 0U);
}

TEST_F(HoldTest, StaysWhileTheOwnerWaits) {
  Hold("owner", Devices({0}));
  world.Submit(Gang("owner", 3, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "owner rejected GangDoesNotFit");
  EXPECT_EQ(holds(), 1U);
  world.Submit(Gang("other", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "owner rejected GangDoesNotFit, other waits GangDoesNotFit");
}

TEST_F(HoldTest, CountsAsFreeForTheTasksBeyondItsOwnersMinimum) {
  world.Submit(Service("owner", 1, WholeGpus(1)));
  world.Cycle();
  Hold("owner", Devices({1}));
  UpdateJob update = Rewish("owner");
  update.groups = {Resized("main", 2)};
  world.Tell(update);
  EXPECT_EQ(world.Cycle(), "owner/main/1@a");
  EXPECT_EQ(holds(), 0U);
}

TEST_F(HoldTest, ExpiresAtItsTime) {
  Hold("owner", Devices({0, 1}), 500);
  world.Submit(Gang("other", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(499), "other waits TooFewWholeDevices");
  EXPECT_EQ(Story(world.Decide(500)), "other/main/0@a, other/main/1@a");
  const Effect effect = world.Tell(Tick{500});
  EXPECT_EQ(effect.expired_holds, std::vector<std::string>{"h"});
  EXPECT_EQ(world.Cycle(), "other/main/0@a, other/main/1@a");
}

TEST_F(HoldTest, IsDroppedByName) {
  Hold("owner", Devices({0}));
  world.Tell(DropHold{"h"});
  EXPECT_EQ(holds(), 0U);
  EXPECT_EQ(world.Ignored(DropHold{"h"}), "no hold 'h' is here (any more)");
}

TEST_F(HoldTest, EndsWithItsNode) {
  Hold("owner", Devices({0}));
  EXPECT_EQ(world.Tell(RemoveNode{"a"}).expired_holds, std::vector<std::string>{"h"});
  EXPECT_EQ(holds(), 0U);
}

TEST_F(HoldTest, ADeviceThatIsHeldAndLostIsGoneWhenTheHoldIs) {
  Hold("owner", Devices({1}));
  UpdateNode update = Change("a");
  update.devices = GpuNode("a", 1).devices;
  world.Tell(update);
  EXPECT_EQ(world.engine.state().nodes().devices(0).size(), 2U);
  world.Tell(DropHold{"h"});
  EXPECT_EQ(world.engine.state().nodes().devices(0).size(), 1U);
}

TEST_F(HoldTest, SaysWhatItRefuses) {
  Hold("owner", Devices({0}));
  const auto refused = [&](const HoldCapacity& hold, Code code, std::string_view part) {
    return Refused(world.Refusal(hold), code, {part});
  };
  const HoldCapacity good = HoldOf("g", "owner", "a", WholeGpus(1), Devices({1}));
  HoldCapacity bad = good;
  bad.name = "h";
  EXPECT_TRUE(refused(bad, Code::kAlreadyExists, "'h'"));
  bad = good;
  bad.node = "b";
  EXPECT_TRUE(refused(bad, Code::kNotFound, "'b'"));
  bad = good;
  bad.devices = Devices({0});
  EXPECT_TRUE(refused(bad, Code::kFailedPrecondition, "devices[0].gpu_milli is 0 free"));
  bad = good;
  bad.devices = Devices({2});
  EXPECT_TRUE(refused(bad, Code::kFailedPrecondition, "devices[2] is missing"));
  bad = good;
  bad.devices = Devices({0, 1});
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "devices"));
  bad = good;
  bad.until = 0;
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "until"));
  bad = good;
  bad.shape.cpu_milli = -1;
  EXPECT_TRUE(refused(bad, Code::kInvalidArgument, "cpu_milli"));
  world.Tell(good);
}

TEST_F(HoldTest, IsForTheWholeJobHoweverManyThereAre) {
  Hold("owner", Devices({0}));
  world.Tell(HoldOf("g", "owner", "a", WholeGpus(1), Devices({1})));
  world.Submit(Gang("owner", 2, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "owner/main/0@a, owner/main/1@a");
  EXPECT_EQ(holds(), 0U);
}

TEST_F(HoldTest, OfAnotherOwnerOutlivesThePlacementOfThisOne) {
  Hold("owner", Devices({0}));
  world.Submit(Gang("other", 1, WholeGpus(1)));
  EXPECT_EQ(world.Cycle(), "other/main/0@a");
  EXPECT_EQ(world.Task("other").devices, Devices({1}));
  EXPECT_EQ(holds(), 1U);
}

}  // namespace
}  // namespace gpusched
