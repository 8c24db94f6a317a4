// The process that writes a journal is killed, in the middle of a record or between two.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/random_events.h"
#include "gpusched/base/rng.h"
#include "gpusched/engine/engine.h"
#include "gpusched/engine/restore.h"
#include "gpusched/journal/file_journal.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr int kSteps = 250;

EnginePolicies Policies(std::uint64_t seed) {
  EnginePolicies policies;
  policies.placer = PlacerOf(Random{.seed = seed});
  return policies;
}

Engine NewEngine(std::uint64_t seed) {
  return *Engine::Create(
      {.start_timeout = 300, .repair_timeout = 700, .strict_fifo = seed % 2 == 0}, Policies(seed));
}

// One random event, or one plan that is committed and perhaps aborted.
void Step(Engine& engine, RandomEvents& events) {
  if (events.Draw(4) > 0) {
    (void)engine.Apply(events.Next(engine));
    return;
  }
  const absl::StatusOr<Plan> plan =
      engine.Decide(engine.state().now() + static_cast<Time>(events.Draw(30)));
  if (!plan.ok() || !engine.Commit(*plan).ok()) return;
  if (events.Draw(8) == 0) (void)engine.Abort(*plan);
}

// Writes to a file until a number of bytes is reached, and then only so far, and dies of it.
class DeadlyJournal final : public Journal {
 public:
  DeadlyJournal(std::unique_ptr<FileJournal> file, std::uint64_t bytes)
      : file_(std::move(file)), left_(bytes) {}

  absl::Status Append(std::string_view bytes) override {
    if (bytes.size() <= left_) {
      left_ -= bytes.size();
      return file_->Append(bytes);
    }
    const int torn = open(file_->path().c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (torn == -1 || write(torn, bytes.data(), left_) != static_cast<ssize_t>(left_)) _exit(1);
    raise(SIGKILL);
    return absl::OkStatus();
  }
  bool empty() const override { return file_->empty(); }

 private:
  std::unique_ptr<FileJournal> file_;
  std::uint64_t left_;
};

// The life of the process that is killed.
[[noreturn]] void WriteAndDie(const std::string& path, std::uint64_t seed, std::uint64_t bytes) {
  auto file = FileJournal::Create(path);
  if (!file.ok()) _exit(2);
  Engine engine = NewEngine(seed);
  if (!engine.SetJournal(std::make_unique<DeadlyJournal>(*std::move(file), bytes)).ok()) _exit(3);
  RandomEvents events(seed);
  for (int i = 0; i < kSteps; ++i) Step(engine, events);
  raise(SIGKILL);
  _exit(4);
}

// Takes so many records and no more. A step may write two, a commit and its abort; the state
// between them is that of an engine whose journal refused the second.
class LimitedJournal final : public Journal {
 public:
  explicit LimitedJournal(std::uint64_t records) : left_(records) {}
  absl::Status Append(std::string_view) override {
    if (left_ == 0) return absl::UnavailableError("no more");
    --left_;
    return absl::OkStatus();
  }
  bool empty() const override { return true; }
  bool done() const { return left_ == 0; }

 private:
  std::uint64_t left_;
};

// The hash after so many records of the same life, led in memory.
std::uint64_t HashAfter(std::uint64_t records, std::uint64_t seed) {
  Engine engine = NewEngine(seed);
  auto journal = std::make_unique<LimitedJournal>(records);
  const LimitedJournal* left = journal.get();
  EXPECT_TRUE(IsOk(engine.SetJournal(std::move(journal))));
  RandomEvents events(seed);
  for (int i = 0; i < kSteps && !left->done(); ++i) Step(engine, events);
  EXPECT_TRUE(left->done()) << "more records than were ever written";
  return StateHash(engine.state());
}

class CrashTest : public testing::Test {
 protected:
  CrashTest() : path_(testing::TempDir() + "gpusched_crash_" + std::to_string(getpid())) {}
  ~CrashTest() override { unlink(path_.c_str()); }

  void KillAt(std::uint64_t bytes, std::uint64_t seed) {
    unlink(path_.c_str());
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) WriteAndDie(path_, seed, bytes);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  }

  // Goes on with what was restored; what is restored then is the whole of it.
  void GoOn(Restored restored, std::uint64_t seed) {
    auto file = FileJournal::Open(path_);
    ASSERT_TRUE(IsOk(file.status())) << "the lock must have ended with its process";
    ASSERT_TRUE(IsOk(file->journal->KeepFirst(restored.report.valid_bytes)));
    ASSERT_TRUE(IsOk(restored.engine.SetJournal(std::move(file->journal), restored.writer)));
    RandomEvents events(seed + 1'000);
    for (int i = 0; i < 30; ++i) Step(restored.engine, events);
    ASSERT_TRUE(IsOk(Audit(restored.engine.state())));
    const auto again = Restore(*ReadFile(path_), Policies(seed), ReplayMode::kVerify);
    ASSERT_TRUE(IsOk(again.status()));
    ASSERT_EQ(again->report.problem, "");
    ASSERT_GT(again->report.records, restored.report.records);
    ASSERT_EQ(StateHash(again->engine.state()), StateHash(restored.engine.state()));
  }

  std::string path_;
};

TEST_F(CrashTest, WhereverTheWriterIsKilledAValidPrefixIsRestored) {
  int torn = 0;
  std::uint64_t plans = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    // The first few die in the first record, the others anywhere.
    const std::uint64_t bytes = seed <= 10 ? rng.Below(60) : 60 + rng.Below(6'000);
    ASSERT_NO_FATAL_FAILURE(KillAt(bytes, seed));
    const auto journal = ReadFile(path_);
    ASSERT_TRUE(IsOk(journal.status()));
    auto restored = Restore(*journal, Policies(seed), ReplayMode::kVerify);
    if (!restored.ok()) {
      // Killed before the first snapshot was whole: nothing was promised yet.
      ASSERT_LE(seed, 10U) << restored.status();
      ASSERT_TRUE(IsOk(FileJournal::Create(path_).status())) << "it is begun anew";
      continue;
    }
    ASSERT_GE(restored->report.records, 1U);
    ASSERT_EQ(restored->report.total_bytes, journal->size());
    ASSERT_EQ(restored->report.end, restored->report.valid_bytes < journal->size()
                                        ? JournalEnd::kCut
                                        : JournalEnd::kWhole);
    torn += restored->report.valid_bytes < journal->size() ? 1 : 0;
    plans += restored->report.plans;
    ASSERT_EQ(restored->report.problem.empty(), restored->report.valid_bytes == journal->size());
    ASSERT_TRUE(IsOk(Audit(restored->engine.state())));
    ASSERT_EQ(StateHash(restored->engine.state()), HashAfter(restored->report.records, seed));
    ASSERT_NO_FATAL_FAILURE(GoOn(*std::move(restored), seed));
  }
  EXPECT_GT(torn, 100) << "most are to die in the middle of a record";
  EXPECT_GT(plans, 1'000U) << "there must be something to lose";
}

}  // namespace
}  // namespace gpusched
