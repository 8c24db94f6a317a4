// TestEngine: an engine to tell stories to, and plans as one line of text.
#ifndef GPUSCHED_TESTS_ENGINE_ENGINE_FIXTURE_H_
#define GPUSCHED_TESTS_ENGINE_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/engine/engine.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/state_hash.h"
#include "job_specs.h"
#include "status_matchers.h"

namespace gpusched {

inline TaskKey Key(std::string job, std::int64_t index = 0, std::int64_t attempt = 1,
                   std::string group = "main") {
  return {.job = std::move(job), .group = std::move(group), .index = index, .attempt = attempt};
}

// What a plan does: "j/main/0@n1" for a placement, with "#2" if it is not the first attempt and
// "!1" if it is of an alternative; "-j/main/0 Cancelled"; "j waits NoNodes"; "j rejected NoNodes".
inline std::string Story(const Plan& plan) {
  std::string story;
  const auto attempt = [](const TaskKey& task) {
    return task.attempt == 1 ? "" : "#" + std::to_string(task.attempt);
  };
  for (const Step& step : plan.steps()) {
    if (!story.empty()) story += ", ";
    if (const auto* place = std::get_if<Place>(&step)) {
      story += TaskName(place->task) + attempt(place->task) + "@" + place->node;
      if (place->alternative != 0) story += "!" + std::to_string(place->alternative);
    } else if (const auto* evict = std::get_if<Evict>(&step)) {
      story += "-" + TaskName(evict->task) + attempt(evict->task) + " " +
               std::string(EvictCauseName(evict->cause));
    } else if (const auto* wait = std::get_if<Wait>(&step)) {
      story += wait->job + " waits " + std::string(ReasonName(wait->why.reason));
    } else if (const auto* reject = std::get_if<Reject>(&step)) {
      story += reject->job + " rejected " + std::string(ReasonName(reject->why.reason));
    }
  }
  return story;
}

// Keeps what is appended; as many appends as are allowed.
class StringJournal final : public Journal {
 public:
  explicit StringJournal(std::string& bytes, int allowed = 1 << 30)
      : bytes_(bytes), allowed_(allowed) {}
  absl::Status Append(std::string_view bytes) override {
    if (allowed_-- <= 0) return absl::ResourceExhaustedError("the disk is full");
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  bool empty() const override { return bytes_.empty(); }

 private:
  std::string& bytes_;
  int allowed_;
};

class TestEngine {
 public:
  explicit TestEngine(EngineSettings settings = {}, EnginePolicies policies = {})
      : engine(*Engine::Create(settings, std::move(policies))) {}
  explicit TestEngine(Engine from) : engine(std::move(from)) {}

  // An event that changes something.
  Effect Tell(const Event& event) {
    const absl::StatusOr<Effect> effect = engine.Apply(event);
    EXPECT_TRUE(IsOk(effect.status()));
    if (!effect.ok()) return {};
    EXPECT_TRUE(effect->changed) << effect->note;
    EXPECT_EQ(effect->note, "");
    EXPECT_TRUE(IsOk(Audit(engine.state())));
    return *effect;
  }

  // An event that is accepted and changes nothing; the note says why.
  std::string Ignored(const Event& event) {
    const std::uint64_t before = hash();
    const std::uint64_t version = engine.version();
    const absl::StatusOr<Effect> effect = engine.Apply(event);
    EXPECT_TRUE(IsOk(effect.status()));
    if (!effect.ok()) return {};
    EXPECT_FALSE(effect->changed);
    EXPECT_NE(effect->note, "");
    EXPECT_TRUE(effect->requeued.empty() && effect->ended.empty());
    EXPECT_EQ(hash(), before);
    EXPECT_EQ(engine.version(), version);
    return effect->note;
  }

  // An event that is refused, and of which nothing stays.
  absl::Status Refusal(const Event& event) {
    const std::uint64_t before = hash();
    const std::uint64_t version = engine.version();
    const absl::Status status = engine.Apply(event).status();
    EXPECT_EQ(hash(), before);
    EXPECT_EQ(engine.version(), version);
    EXPECT_TRUE(IsOk(Audit(engine.state())));
    return status;
  }

  void Node(const NodeSpec& node) { Tell(AddNode{node}); }
  void Submit(const JobSpec& job) { Tell(SubmitJob{job}); }

  Plan Decide(std::optional<Time> now = std::nullopt) {
    const std::uint64_t before = hash();
    const absl::StatusOr<Plan> next = engine.Decide(now.value_or(engine.state().now()));
    EXPECT_TRUE(IsOk(next.status()));
    EXPECT_EQ(hash(), before) << "to decide changes nothing";
    return next.ok() ? *next : Plan();
  }

  // Decides and commits.
  std::string Cycle(std::optional<Time> now = std::nullopt) {
    plan = Decide(now);
    EXPECT_TRUE(IsOk(engine.Commit(plan).status()));
    EXPECT_TRUE(IsOk(Audit(engine.state())));
    return Story(plan);
  }

  // Says of each placement of the last plan that it runs.
  void StartAll() {
    for (const Step& step : plan.steps()) {
      if (const auto* place = std::get_if<Place>(&step)) Tell(TaskStarted{place->task, {}});
    }
  }

  TaskStatus Task(std::string_view job, std::int64_t index = 0, std::string_view group = "main") {
    const absl::StatusOr<JobStatus> status = engine.Job(job);
    if (status.ok()) {
      for (const TaskStatus& task : status->tasks) {
        if (task.task.group == group && task.task.index == index) return task;
      }
    }
    ADD_FAILURE() << "no task " << group << "/" << index << " of " << job;
    return {};
  }
  bool Live(std::string_view job) { return engine.state().FindJob(job).has_value(); }

  // What the next plan says of a job that waits.
  WaitReason Why(std::string_view job, std::optional<Time> now = std::nullopt) {
    const Plan next = Decide(now);
    for (const Step& step : next.steps()) {
      if (const auto* wait = std::get_if<Wait>(&step); wait && wait->job == job) return wait->why;
      if (const auto* no = std::get_if<Reject>(&step); no && no->job == job) return no->why;
    }
    ADD_FAILURE() << job << " does not wait: " << Story(next);
    return {};
  }

  std::uint64_t hash() const { return StateHash(engine.state()); }

  Engine engine;
  Plan plan;
};

// "j/main/0#1 k/main/2#3": the attempts that an effect says are over.
inline std::string Requeued(const Effect& effect) {
  std::string text;
  for (const TaskKey& task : effect.requeued) {
    if (!text.empty()) text += " ";
    text += TaskName(task) + "#" + std::to_string(task.attempt);
  }
  return text;
}

inline UpdateNode Change(std::string node) {
  UpdateNode update;
  update.node = std::move(node);
  return update;
}

inline UpdateJob Rewish(std::string job) {
  UpdateJob update;
  update.job = std::move(job);
  return update;
}

inline GroupUpdate Resized(std::string group, std::int64_t count) {
  GroupUpdate update;
  update.group = std::move(group);
  update.count = count;
  return update;
}

inline TaskStarted Found(TaskKey task, std::string node, DeviceMask devices = {}) {
  return {std::move(task), TaskPlace{.node = std::move(node), .devices = devices}};
}

inline HoldCapacity HoldOf(std::string name, std::string owner, std::string node, ShapeSpec shape,
                           DeviceMask devices, Time until = kNoDeadline) {
  return {.name = std::move(name),
          .owner = std::move(owner),
          .node = std::move(node),
          .shape = std::move(shape),
          .devices = devices,
          .until = until};
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_ENGINE_ENGINE_FIXTURE_H_
