#include "gpusched/engine/restore.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine_fixture.h"
#include "gpusched/journal/codec.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

using Code = absl::StatusCode;

// A small story with its journal, and what was true after each record.
struct Written {
  std::string bytes;
  std::vector<std::size_t> ends;      // of each record
  std::vector<std::uint64_t> hashes;  // after it
  std::vector<std::uint64_t> versions;
};

Written WriteStory() {
  Written written;
  TestEngine world({.start_timeout = 300});
  const auto note = [&] {
    written.ends.push_back(written.bytes.size());
    written.hashes.push_back(world.hash());
    written.versions.push_back(world.engine.version());
  };
  world.Node(GpuNode("a", 1));
  world.Submit(Gang("j", 2, WholeGpus(1)));
  EXPECT_TRUE(IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(written.bytes))));
  note();
  world.Node(GpuNode("b", 2));
  note();
  world.Cycle(100);
  note();
  world.Tell(TaskStarted{Key("j", 0), {}});
  note();
  EXPECT_TRUE(world.engine.Abort(world.plan)->changed);
  note();
  world.Cycle(200);
  note();
  world.Tell(HoldOf("h", "k", "b", WholeGpus(1), Devices({1})));
  note();
  return written;
}

TEST(Restore, GivesTheEngineThatHasWritten) {
  const Written written = WriteStory();
  const auto restored = Restore(written.bytes);
  ASSERT_TRUE(IsOk(restored.status()));
  EXPECT_EQ(StateHash(restored->engine.state()), written.hashes.back());
  EXPECT_EQ(restored->engine.version(), written.versions.back());
  EXPECT_EQ(restored->engine.settings().start_timeout, 300);
  EXPECT_EQ(restored->report.records, 7U);
  EXPECT_EQ(restored->report.plans, 2U);
  EXPECT_EQ(restored->report.valid_bytes, written.bytes.size());
  EXPECT_EQ(restored->report.total_bytes, written.bytes.size());
  EXPECT_EQ(restored->report.problem, "");
}

TEST(Restore, OfAJournalThatIsCutAnywhereGivesTheRecordsThatAreWhole) {
  const Written written = WriteStory();
  for (std::size_t size = 0; size <= written.bytes.size(); ++size) {
    const auto restored = Restore(std::string_view(written.bytes).substr(0, size));
    if (size < written.ends[0]) {
      ASSERT_FALSE(restored.ok()) << size;
      const Code code = restored.status().code();
      ASSERT_TRUE(code == Code::kDataLoss || code == Code::kInvalidArgument)
          << size << ": " << restored.status();
      continue;
    }
    ASSERT_TRUE(IsOk(restored.status())) << size;
    std::size_t records = 0;
    while (records < written.ends.size() && written.ends[records] <= size) ++records;
    ASSERT_EQ(restored->report.records, records) << size;
    ASSERT_EQ(restored->report.valid_bytes, written.ends[records - 1]) << size;
    ASSERT_EQ(restored->report.total_bytes, size);
    ASSERT_EQ(restored->report.problem.empty(), written.ends[records - 1] == size) << size;
    ASSERT_EQ(restored->report.end,
              written.ends[records - 1] == size ? JournalEnd::kWhole : JournalEnd::kCut)
        << size;
    ASSERT_EQ(StateHash(restored->engine.state()), written.hashes[records - 1]) << size;
    ASSERT_EQ(restored->engine.version(), written.versions[records - 1]) << size;
  }
}

TEST(Restore, OfAJournalInWhichAByteIsChangedGivesNothingFromThereOn) {
  const Written written = WriteStory();
  for (std::size_t at = 0; at < written.bytes.size(); ++at) {
    std::size_t damaged = 0;  // the record that the byte is of
    while (written.ends[damaged] <= at) ++damaged;
    for (const int bit : {0, 3, 7}) {
      std::string bytes = written.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const auto restored = Restore(bytes);
      if (!restored.ok()) {
        ASSERT_EQ(damaged, 0U) << at << ": " << restored.status();
        continue;
      }
      ASSERT_GT(damaged, 0U) << at;
      ASSERT_EQ(restored->report.records, damaged) << at;
      ASSERT_NE(restored->report.problem, "") << at;
      ASSERT_EQ(restored->report.end, JournalEnd::kDamaged) << at;
      ASSERT_EQ(StateHash(restored->engine.state()), written.hashes[damaged - 1]) << at;
    }
  }
}

TEST(Restore, RefusesWhatIsNoJournalOfAnEngine) {
  EXPECT_TRUE(Refused(Restore(""), Code::kInvalidArgument, {"empty", "snapshot"}));
  EXPECT_TRUE(Refused(Restore("#!/bin/sh\n"), Code::kInvalidArgument));
  const std::string event = RecordWriter().Frame(RecordKind::kEvent, Encode(Event(Tick{5})));
  EXPECT_TRUE(Refused(Restore(event), Code::kInvalidArgument, {"does not begin with a snapshot"}));
  const std::string broken = RecordWriter().Frame(RecordKind::kSnapshot, "nonsense");
  EXPECT_TRUE(Refused(Restore(broken), Code::kDataLoss, {"snapshot"}));
}

TEST(Restore, SaysWhatThePoliciesFactorySays) {
  EnginePolicies policies;
  policies.placer = [](ClusterState&) -> absl::StatusOr<std::unique_ptr<Placer>> {
    return absl::UnimplementedError("not today");
  };
  EXPECT_TRUE(Refused(Restore(WriteStory().bytes, policies), Code::kUnimplemented));
}

// Appends one more record to a valid journal.
std::string With(const std::string& bytes, RecordKind kind, const std::string& payload) {
  RecordWriter writer = Recover(bytes)->Continue();
  return bytes + writer.Frame(kind, payload);
}

TEST(Restore, LeavesOutARecordThatDoesNotApplyAndWhatFollows) {
  const Written written = WriteStory();
  const std::vector<std::pair<RecordKind, std::string>> cases = {
      {RecordKind::kEvent, Encode(Event(AddNode{GpuNode("a", 1)}))},  // is there
      {RecordKind::kEvent, Encode(Event(RemoveNode{"nobody"}))},      // changes nothing
      {RecordKind::kEvent, "nonsense"},
      {RecordKind::kCommit, "nonsense"},
      {RecordKind::kCommit, std::string(8, 'x') + Encode(Plan(200, 1, 1, {}))},  // stale
      {RecordKind::kAbort, Encode(Plan())},                                      // aborts nothing
      {RecordKind::kAbort, "nonsense"},
      {RecordKind::kSnapshot, "nonsense"},
  };
  for (const auto& [kind, payload] : cases) {
    std::string bytes = With(written.bytes, kind, payload);
    bytes = With(bytes, RecordKind::kEvent, Encode(Event(Tick{5'000})));
    const auto restored = Restore(bytes);
    ASSERT_TRUE(IsOk(restored.status()));
    EXPECT_EQ(restored->report.records, written.ends.size());
    EXPECT_EQ(restored->report.valid_bytes, written.bytes.size());
    EXPECT_EQ(restored->report.end, JournalEnd::kDoesNotApply);
    EXPECT_NE(restored->report.problem.find("record 8 (" + std::string(RecordKindName(kind)) +
                                            ") at byte " + std::to_string(written.bytes.size()) +
                                            " does not apply: "),
              std::string::npos)
        << restored->report.problem;
    EXPECT_EQ(StateHash(restored->engine.state()), written.hashes.back());
  }
}

TEST(Restore, ALaterSnapshotReplacesWhatWasBefore) {
  const Written written = WriteStory();
  TestEngine other;
  other.Node(GpuNode("elsewhere", 3));
  const std::string saved = *other.engine.Save();
  const std::string payload(Recover(saved)->records[0].payload);
  const auto restored = Restore(With(written.bytes, RecordKind::kSnapshot, payload));
  ASSERT_TRUE(IsOk(restored.status()));
  EXPECT_EQ(StateHash(restored->engine.state()), other.hash());
}

TEST(Restore, AJournalGoesOnWhereItsValidPartEnds) {
  const Written written = WriteStory();
  for (const std::size_t cut : {written.bytes.size(), written.ends[4] + 3, written.ends[1]}) {
    std::string bytes = written.bytes.substr(0, cut);
    auto restored = Restore(bytes);
    ASSERT_TRUE(IsOk(restored.status()));
    bytes.resize(restored->report.valid_bytes);
    TestEngine world(std::move(restored->engine));
    ASSERT_TRUE(
        IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(bytes), restored->writer)));
    EXPECT_EQ(bytes.size(), restored->report.valid_bytes) << "no second snapshot";
    world.Node(GpuNode("c", 4));
    world.Cycle(1'000);
    const auto again = Restore(bytes, {}, ReplayMode::kVerify);
    ASSERT_TRUE(IsOk(again.status()));
    EXPECT_EQ(again->report.problem, "");
    EXPECT_EQ(again->report.records, restored->report.records + 2);
    EXPECT_EQ(StateHash(again->engine.state()), world.hash());
  }
}

TEST(Restore, GoesOnBeforeARecordThatDoesNotApply) {
  const Written written = WriteStory();
  std::string bytes = With(written.bytes, RecordKind::kEvent, Encode(Event(RemoveNode{"nobody"})));
  auto restored = Restore(bytes);
  ASSERT_TRUE(IsOk(restored.status()));
  bytes.resize(restored->report.valid_bytes);
  TestEngine world(std::move(restored->engine));
  ASSERT_TRUE(
      IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(bytes), restored->writer)));
  world.Tell(Tick{9'000});
  const auto again = Restore(bytes);
  ASSERT_TRUE(IsOk(again.status()));
  EXPECT_EQ(again->report.problem, "");
  EXPECT_EQ(StateHash(again->engine.state()), world.hash());
}

// --- deciding anew ------------------------------------------------------------------------------

// Two nodes of different size, between which best fit and worst fit differ.
std::string BestFitJournal(std::uint64_t& hash) {
  EnginePolicies policies;
  policies.placer = PlacerOf(BestFit{});
  TestEngine world({}, std::move(policies));
  std::string bytes;
  EXPECT_TRUE(IsOk(world.engine.SetJournal(std::make_unique<StringJournal>(bytes))));
  world.Node(GpuNode("large", 8));
  world.Node(GpuNode("small", 2));
  world.Submit(Gang("j", 1, WholeGpus(1)));
  world.Cycle();
  world.Submit(Gang("waits", 1, WholeGpus(9)));
  world.Cycle();
  hash = world.hash();
  return bytes;
}

TEST(RestoreVerify, TheSamePoliciesDecideTheSame) {
  std::uint64_t hash = 0;
  const std::string bytes = BestFitJournal(hash);
  const auto restored = Restore(bytes, {}, ReplayMode::kVerify);
  ASSERT_TRUE(IsOk(restored.status()));
  EXPECT_EQ(restored->report.problem, "");
  EXPECT_EQ(restored->report.plans, 2U);
  EXPECT_EQ(StateHash(restored->engine.state()), hash);
}

TEST(RestoreVerify, AnotherPolicyIsFoundOutAndToApplyItDoesNotMatter) {
  std::uint64_t hash = 0;
  const std::string bytes = BestFitJournal(hash);
  EnginePolicies worst;
  worst.placer = PlacerOf(WorstFit{});
  const auto verified = Restore(bytes, worst, ReplayMode::kVerify);
  ASSERT_TRUE(IsOk(verified.status()));
  EXPECT_NE(verified->report.problem.find("record 5 (commit)"), std::string::npos)
      << verified->report.problem;
  EXPECT_NE(verified->report.problem.find("another one"), std::string::npos);
  EXPECT_EQ(verified->report.records, 4U);
  const auto applied = Restore(bytes, worst);
  ASSERT_TRUE(IsOk(applied.status()));
  EXPECT_EQ(applied->report.problem, "");
  EXPECT_EQ(StateHash(applied->engine.state()), hash);
}

// The reasons are not written down, but their digest is.
TEST(RestoreVerify, AlsoReasonsMustBeTheSame) {
  std::uint64_t hash = 0;
  const std::string bytes = BestFitJournal(hash);
  struct Refuser {
    Shortfall operator()(const NodeView& node, const Shape& shape) const {
      if (shape.gpu_count < 9 || node.slot() != 0) return {};
      return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
    }
  };
  EnginePolicies policies;
  policies.placer = PlacerOf(BestFit{}, Filters<Refuser>(Refuser()));
  const auto verified = Restore(bytes, policies, ReplayMode::kVerify);
  ASSERT_TRUE(IsOk(verified.status()));
  EXPECT_NE(verified->report.problem.find("record 7 (commit)"), std::string::npos)
      << verified->report.problem;
}

}  // namespace
}  // namespace gpusched
