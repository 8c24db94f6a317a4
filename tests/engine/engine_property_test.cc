// What must hold after every step of every stream of events: the validator is silent, gangs are
// whole or in repair, the ledger adds up, refused and aborted steps change nothing, and the journal
// and the saved bytes give the same engine again.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/random_events.h"
#include "gpusched/decision/plan_validator.h"
#include "gpusched/engine/engine.h"
#include "gpusched/engine/restore.h"
#include "gpusched/journal/codec.h"
#include "gpusched/journal/text.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

// Keeps what is appended.
class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(std::string& bytes) : bytes_(bytes) {}
  absl::Status Append(std::string_view bytes) override {
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  bool empty() const override { return bytes_.empty(); }

 private:
  std::string& bytes_;
};

EngineSettings Settings(std::uint64_t seed) {
  return {.start_timeout = 300,
          .repair_timeout = 700,
          .strict_fifo = seed % 3 == 0,
          .gang_search_limit = seed % 5 == 0 ? 4 : 500};
}

EnginePolicies Policies(std::uint64_t seed) {
  EnginePolicies policies;
  if (seed % 2 == 0) policies.placer = PlacerOf(Random{.seed = seed});
  return policies;
}

// One engine, its validator, and what has happened so far.
class World {
 public:
  explicit World(std::uint64_t seed)
      : seed_(seed),
        events_(seed),
        engine_(*Engine::Create(Settings(seed), Policies(seed))),
        validator_({.start_timeout = 300, .repair_timeout = 700}) {
    EXPECT_TRUE(IsOk(engine_.SetJournal(std::make_unique<MemoryJournal>(journal_))));
  }

  void Step() {
    if (events_.Draw(4) == 0) {
      Cycle();
    } else {
      Tell(events_.Next(engine_));
    }
    ASSERT_TRUE(IsOk(Audit(engine_.state())));
    CompareWithValidator();
  }

  void Replay() {
    const auto restored = Restore(journal_, Policies(seed_), ReplayMode::kVerify);
    ASSERT_TRUE(IsOk(restored.status()));
    ASSERT_EQ(restored->report.problem, "");
    ASSERT_EQ(StateHash(restored->engine.state()), Hash());
    auto loaded = Engine::Load(*engine_.Save(), Policies(seed_));
    ASSERT_TRUE(IsOk(loaded.status()));
    ASSERT_EQ(StateHash(loaded->state()), Hash());
    auto fork = engine_.Fork();
    ASSERT_TRUE(IsOk(fork.status()));
    const Time now = engine_.state().now() + 100;
    const std::string plan = Encode(*engine_.Decide(now));
    ASSERT_EQ(Encode(*loaded->Decide(now)), plan);
    ASSERT_EQ(Encode(*fork->Decide(now)), plan);
    // A journal that goes on from a saved state.
    if (events_.Draw(2) == 0) {
      journal_.clear();
      ASSERT_TRUE(IsOk(loaded->SetJournal(std::make_unique<MemoryJournal>(journal_))));
      engine_ = *std::move(loaded);
    }
  }

  std::uint64_t Hash() const { return StateHash(engine_.state()); }
  std::int64_t placed() const { return placed_; }
  std::int64_t placed(SharingMode mode) const { return by_mode_[static_cast<std::size_t>(mode)]; }

 private:
  void Tell(const Event& event) {
    const std::uint64_t before = Hash();
    const auto effect = engine_.Apply(event);
    if (!effect.ok()) {
      ASSERT_EQ(Hash(), before) << EventText(event) << ": " << effect.status();
      ASSERT_NE(effect.status().code(), absl::StatusCode::kInternal) << effect.status();
      return;
    }
    // A job without any task comes and goes in one event.
    ASSERT_TRUE(effect->changed == (Hash() != before) || !effect->ended.empty())
        << EventText(event) << ": " << effect->note;
    ASSERT_NE(effect->changed, !effect->note.empty()) << EventText(event);
    validator_.Observe(event);
    last_ = EventText(event);
  }

  void Cycle() {
    const std::uint64_t before = Hash();
    const Time now = engine_.state().now() + static_cast<Time>(events_.Draw(30));
    const auto plan = engine_.Decide(now);
    ASSERT_TRUE(IsOk(plan.status()));
    ASSERT_EQ(Hash(), before);
    ASSERT_TRUE(IsOk(Audit(engine_.state())));
    const absl::Status verdict = validator_.Check(*plan);
    if (!verdict.ok()) {
      std::string steps;
      for (const gpusched::Step& step : plan->steps()) steps += StepText(step) + "\n";
      steps += Describe();
      FAIL() << verdict << "\n" << steps << "after " << last_;
    }
    if (events_.Draw(6) == 0) return;
    ASSERT_TRUE(IsOk(engine_.Commit(*plan).status()));
    validator_.ObserveCommit(*plan);
    last_ = "a commit";
    CheckGangs();
    for (const gpusched::Step& step : plan->steps()) {
      const auto* const place = std::get_if<Place>(&step);
      if (place == nullptr) continue;
      ++placed_;
      ++by_mode_[static_cast<std::size_t>(place->grant.mode)];
    }
    if (events_.Draw(8) > 0) return;
    ASSERT_TRUE(IsOk(engine_.Abort(*plan).status()));
    validator_.ObserveAbort(*plan);
    last_ = "an abort";
  }

  // For a failure's message.
  std::string Describe() const {
    std::string text;
    for (const JobStatus& job : engine_.Jobs()) {
      const JobRow& row = engine_.state().jobs()[engine_.state().FindJob(job.job)->slot];
      text += EventText(SubmitJob{row.spec}) + ", on alternative " +
              std::to_string(row.alternative) + (row.header.releasing ? ", releasing" : "") + "\n";
      for (const TaskStatus& task : job.tasks) {
        text += "  " + TaskName(task.task) + " attempt " + std::to_string(task.task.attempt) + " " +
                std::string(TaskPhaseName(task.phase)) + " " + task.node + "\n";
      }
    }
    return text;
  }

  void CheckGangs() {
    for (const JobStatus& job : engine_.Jobs()) {
      const JobRow& row = engine_.state().jobs()[engine_.state().FindJob(job.job)->slot];
      std::int64_t live = 0;
      for (const TaskStatus& task : job.tasks) {
        live += task.phase == TaskPhase::kAssumed || task.phase == TaskPhase::kRunning ? 1 : 0;
      }
      const bool in_repair = row.header.repair_deadline > engine_.state().now() &&
                             row.header.repair_deadline != kNoDeadline;
      ASSERT_TRUE(row.whole() || live == 0 || in_repair)
          << job.job << " at " << engine_.state().now() << "\n"
          << Describe();
    }
  }

  void CompareWithValidator() {
    ASSERT_EQ(engine_.state().now(), validator_.now());
    std::vector<PlacedTask> placed;
    std::map<std::string, JobStatus> jobs;
    for (JobStatus& job : engine_.Jobs()) jobs.emplace(job.job, std::move(job));
    for (const auto& [name, job] : jobs) {
      for (const TaskStatus& task : job.tasks) {
        if (IsPlaced(task.phase))
          placed.push_back({task.task, task.node, task.devices, task.grant.instances});
      }
    }
    std::sort(placed.begin(), placed.end(),
              [](const PlacedTask& a, const PlacedTask& b) { return a.task < b.task; });
    ASSERT_EQ(placed.size(), validator_.Placed().size()) << "after " << last_;
    ASSERT_TRUE(placed == validator_.Placed()) << "after " << last_;
    const std::vector<JobCount> counts = validator_.Jobs();
    ASSERT_EQ(counts.size(), jobs.size()) << "after " << last_;
    for (const JobCount& count : counts) {
      const auto it = jobs.find(count.job);
      ASSERT_NE(it, jobs.end()) << count.job;
      const JobStatus& job = it->second;
      ASSERT_EQ(job.repair_deadline, count.repair_deadline.value_or(kNoDeadline))
          << count.job << " after " << last_ << "\n"
          << Describe();
      ASSERT_EQ(job.ending.has_value(), count.ending) << count.job << " after " << last_;
      ASSERT_EQ(job.alternative, count.alternative) << count.job << " after " << last_;
    }
    for (const NodeLoad& load : validator_.Used()) {
      const auto node = engine_.state().FindNode(load.node);
      ASSERT_TRUE(node.has_value()) << load.node;
      const NodeTable& nodes = engine_.state().nodes();
      ASSERT_EQ(nodes.used(node->slot)[ResourceKind::kCpuMilli], load.cpu_milli);
      ASSERT_EQ(nodes.used(node->slot)[ResourceKind::kMemMib], load.mem_mib);
      for (std::size_t i = 0; i < nodes.devices(node->slot).size(); ++i) {
        const DeviceLedger& device = nodes.devices(node->slot)[i];
        ASSERT_EQ(device.used.gpu_milli, load.devices[i].gpu_milli) << "after " << last_;
        ASSERT_EQ(device.used_by.parts, load.devices[i].parts) << "after " << last_;
        ASSERT_EQ(device.used_by.tenants, load.devices[i].tenants) << "after " << last_;
        for (std::size_t s = 0; s < load.devices[i].slices.size(); ++s) {
          ASSERT_EQ(device.used_by.slices[s], load.devices[i].slices[s]) << "after " << last_;
        }
      }
    }
    ASSERT_EQ(engine_.state().holds().list().size(), validator_.Holds().size());
  }

  std::uint64_t seed_;
  RandomEvents events_;
  Engine engine_;
  PlanValidator validator_;
  std::string journal_;
  std::string last_ = "nothing";
  std::int64_t placed_ = 0;
  std::array<std::int64_t, kSharingModes> by_mode_{};
};

// 10^5 events by default; GPUSCHED_EVENTS asks for more.
TEST(EngineProperty, RandomEventStreams) {
  const char* asked = std::getenv("GPUSCHED_EVENTS");
  const std::int64_t events = asked == nullptr ? 100'000 : std::atoll(asked);
  constexpr std::int64_t kPerStream = 500;
  std::int64_t placed = 0;
  std::array<std::int64_t, kSharingModes> by_mode{};
  for (std::int64_t stream = 0; stream * kPerStream < events; ++stream) {
    SCOPED_TRACE(stream);
    World world(static_cast<std::uint64_t>(stream));
    for (std::int64_t i = 0; i < kPerStream; ++i) {
      world.Step();
      if (HasFailure()) FAIL() << "step " << i;
      if (i % 100 == 99) world.Replay();
    }
    placed += world.placed();
    for (std::size_t mode = 0; mode < kSharingModes; ++mode) {
      by_mode[mode] += world.placed(static_cast<SharingMode>(mode));
    }
  }
  // The streams are worth something only if much gets placed, in every mode.
  EXPECT_GT(placed, events / 20);
  for (std::size_t mode = 0; mode < kSharingModes; ++mode) {
    EXPECT_GT(by_mode[mode], events / 500) << SharingModeName(static_cast<SharingMode>(mode));
  }
}

}  // namespace
}  // namespace gpusched
