// What an engine writes to its journal, and what it does if it can't.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/engine_fixture.h"
#include "gpusched/engine/restore.h"
#include "gpusched/journal/record.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

std::string Kinds(std::string_view bytes) {
  std::string kinds;
  const absl::StatusOr<Recovered> recovered = Recover(bytes);
  EXPECT_TRUE(IsOk(recovered.status()));
  if (!recovered.ok()) return kinds;
  EXPECT_EQ(recovered->problem, "");
  for (const Record& record : recovered->records) {
    kinds += std::string(RecordKindName(record.kind)) + " ";
  }
  return kinds;
}

class JournalledEngine : public testing::Test {
 protected:
  // With room for so many records.
  void Begin(int records = 1 << 30) {
    bytes.clear();
    ASSERT_TRUE(IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(bytes, records))));
  }

  std::string bytes;
  TestEngine world;
};

TEST_F(JournalledEngine, EachChangeIsARecordAndNothingElseIs) {
  Begin();
  EXPECT_EQ(Kinds(bytes), "snapshot ");
  world.Node(GpuNode("a", 2));
  world.Ignored(CancelJob{"nobody"});
  EXPECT_FALSE(world.Refusal(AddNode{GpuNode("a", 2)}).ok());
  EXPECT_EQ(Kinds(bytes), "snapshot event ");
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Decide();
  ASSERT_TRUE(world.engine.Explain("j").ok());
  EXPECT_EQ(Kinds(bytes), "snapshot event event ");
  world.Cycle();
  EXPECT_TRUE(world.engine.Abort(world.plan)->changed);
  EXPECT_FALSE(world.engine.Abort(world.plan)->changed);
  EXPECT_EQ(Kinds(bytes), "snapshot event event commit abort ");
}

TEST_F(JournalledEngine, APlanThatDoesNothingIsNotWritten) {
  world.Node(GpuNode("a", 1));
  Begin();
  EXPECT_EQ(world.Cycle(), "");
  EXPECT_EQ(Kinds(bytes), "snapshot ");
  world.Cycle(1'000);
  EXPECT_EQ(Kinds(bytes), "snapshot commit ") << "time has passed";
}

TEST_F(JournalledEngine, ASnapshotIsOfThePresentState) {
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  Begin();
  EXPECT_EQ(StateHash(Restore(bytes)->engine.state()), world.hash());
}

TEST_F(JournalledEngine, WhatCanNotBeWrittenDoesNotHappen) {
  Begin(4);
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Submit(Gang("k", 1, WholeGpus(1)));
  const std::string before = bytes;
  const std::uint64_t hash = world.hash();
  EXPECT_TRUE(Refused(world.Refusal(AddNode{GpuNode("b", 1)}), Code::kResourceExhausted,
                      {"the disk is full"}));
  const Plan plan = world.Decide();
  EXPECT_TRUE(Refused(world.engine.Commit(plan), Code::kResourceExhausted));
  EXPECT_EQ(world.hash(), hash);
  EXPECT_EQ(bytes, before);
  EXPECT_TRUE(IsOk(Audit(world.engine.state())));
}

TEST_F(JournalledEngine, AnAbortThatCanNotBeWrittenDoesNotHappen) {
  Begin(4);
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  EXPECT_TRUE(Refused(world.engine.Abort(world.plan), Code::kResourceExhausted));
  EXPECT_EQ(world.Task("j").phase, TaskPhase::kAssumed);
}

// Fails once, then goes on.
class Hiccup final : public Journal {
 public:
  Hiccup(std::string& bytes, int at) : bytes_(bytes), at_(at) {}
  absl::Status Append(std::string_view bytes) override {
    if (at_-- == 0) return absl::UnavailableError("try again");
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  bool empty() const override { return bytes_.empty(); }

 private:
  std::string& bytes_;
  int at_;
};

TEST_F(JournalledEngine, AfterAFailureTheJournalGoesOn) {
  ASSERT_TRUE(IsOk(world.engine.SetJournal(std::make_unique<Hiccup>(bytes, 2))));
  world.Node(GpuNode("a", 2));
  const Event submit = SubmitJob{Gang("j", 2, WholeGpus(1))};
  EXPECT_TRUE(Refused(world.Refusal(submit), Code::kUnavailable, {"try again"}));
  world.Tell(submit);
  world.Cycle();
  EXPECT_EQ(Kinds(bytes), "snapshot event event commit ");
  EXPECT_EQ(StateHash(Restore(bytes)->engine.state()), world.hash());
}

TEST_F(JournalledEngine, AJournalThatTakesNoSnapshotIsNotTaken) {
  EXPECT_TRUE(Refused(world.engine.SetJournal(std::make_unique<StringJournal>(bytes, 0)),
                      Code::kResourceExhausted));
  world.Node(GpuNode("a", 2));
  EXPECT_EQ(bytes, "");
}

TEST_F(JournalledEngine, AFailedChangeOfJournalKeepsTheFormerOne) {
  Begin();
  std::string other;
  EXPECT_FALSE(world.engine.SetJournal(std::make_unique<StringJournal>(other, 0)).ok());
  world.Node(GpuNode("a", 2));
  EXPECT_EQ(Kinds(bytes), "snapshot event ");
}

TEST_F(JournalledEngine, WithoutAJournalNothingIsWrittenAnyMore) {
  Begin();
  ASSERT_TRUE(IsOk(world.engine.SetJournal(nullptr)));
  world.Node(GpuNode("a", 2));
  EXPECT_EQ(Kinds(bytes), "snapshot ");
}

TEST_F(JournalledEngine, AJournalMayBeginAnewAtAnyTime) {
  Begin();
  world.Node(GpuNode("a", 2));
  const std::string first = bytes;
  Begin();
  world.Node(GpuNode("b", 2));
  EXPECT_EQ(Kinds(bytes), "snapshot event ");
  EXPECT_EQ(StateHash(Restore(bytes)->engine.state()), world.hash());
  EXPECT_EQ(Kinds(first), "snapshot event ");
}

TEST_F(JournalledEngine, AJournalThatIsNotEmptyIsNotBegunAgain) {
  Begin();
  world.Node(GpuNode("a", 2));
  const std::string before = bytes;
  TestEngine other;
  EXPECT_TRUE(Refused(other.engine.SetJournal(std::make_unique<StringJournal>(bytes)),
                      Code::kFailedPrecondition, {"not empty", "use an empty journal"}));
  EXPECT_EQ(bytes, before);
  other.Node(GpuNode("b", 2));
  EXPECT_EQ(bytes, before) << "it was not taken";
  auto restored = Restore(bytes);
  ASSERT_TRUE(IsOk(restored.status()));
  EXPECT_TRUE(
      IsOk(restored->engine.SetJournal(std::make_unique<StringJournal>(bytes), restored->writer)));
  EXPECT_EQ(bytes, before);
}

TEST_F(JournalledEngine, ThePlansOfTheEngineThatIsRestoredAreThoseOfTheOneThatWrote) {
  Begin();
  world.Node(GpuNode("a", 2));
  world.Submit(Gang("j", 3, WholeGpus(1)));
  world.Cycle(10);
  const auto restored = Restore(bytes);
  ASSERT_TRUE(IsOk(restored.status()));
  TestEngine again(*restored->engine.Fork());
  world.Node(GpuNode("b", 1));
  again.Node(GpuNode("b", 1));
  EXPECT_EQ(again.Cycle(20), world.Cycle(20));
  EXPECT_EQ(again.hash(), world.hash());
}

}  // namespace
}  // namespace gpusched
