#include <set>
#include <variant>

#include "absl/strings/str_cat.h"
#include "plan_validator_ledger.h"
#include "plan_validator_world.h"

namespace gpusched::validator {
namespace {

std::string TaskText(const TaskKey& task) {
  return absl::StrCat("'", TaskName(task), "' attempt ", task.attempt);
}

std::string Text(const Place& step) {
  return absl::StrCat("Place of ", TaskText(step.task), " on '", step.node, "'");
}

std::string Text(const Evict& step) {
  return absl::StrCat("Evict of ", TaskText(step.task), " on '", step.node, "', ",
                      std::string(EvictCauseName(step.cause)));
}

std::string Text(const Wait& step) { return absl::StrCat("Wait of job '", step.job, "'"); }

std::string Text(const Reject& step) { return absl::StrCat("Reject of job '", step.job, "'"); }

// Whether a placed task of the job is to go for this cause.
bool IsTrue(EvictCause cause, const Job& job, const GroupAndIndex& task, Time now) {
  switch (cause) {
    case EvictCause::kCancelled:
      return job.cancelled;
    case EvictCause::kJobFailed:
      return job.failed;
    case EvictCause::kScaledDown:
      return task.second >= FindGroup(job.Groups(), task.first)->count;
    case EvictCause::kGangNotWhole:
      return !job.Ending() && job.repair_deadline && *job.repair_deadline <= now;
  }
  return false;
}

// Goes through a plan step by step, in a world that follows.
class PlanCheck {
 public:
  PlanCheck(World world, const Plan& plan)
      : plan_(plan), started_(world.started_job_groups), world_(std::move(world)), ledger_(world_) {
    for (const Step& step : plan.steps()) {
      if (const auto* place = std::get_if<Place>(&step)) placing_.insert(place->task.job);
    }
  }

  // The rule that is broken, with its step or job; empty: none is.
  std::string Run();

 private:
  std::string OfStep(const Evict& step);
  std::string OfStep(const Place& step);
  std::string OfStep(const Wait& step);
  std::string OfStep(const Reject& step);

  std::string ForgottenEviction() const;
  std::string WrongEviction(const Evict& step) const;
  std::string WrongAnswer(const std::string& name, const WaitReason& why, bool is_wait);
  std::string NotAdjacent(const std::string& name);

  // Rules of a placement, in the order in which they are asked; each may rely on those before it.
  std::string WrongJob(const Place& step) const;
  std::string WrongAlternative(const Place& step) const;
  std::string WrongTask(const Place& step) const;
  std::string WrongAttempt(const Place& step) const;
  std::string WrongRank(const Place& step) const;
  std::string IncompleteJobGroup(const Place& step) const;
  std::string WrongNode(const Place& step) const;
  std::string WrongOnNode(const Place& step) const;

  std::string WrongAfterPlan() const;
  std::string NotWhole(const std::string& name, const Job& job) const;
  std::string WrongNumberOfAnswers(const std::string& name, const Job& job) const;
  bool PlacesOfGroupNotStarted(const Job& job) const;

  const Job& JobOf(const Place& step) const { return world_.jobs.at(step.task.job); }
  const std::vector<TaskGroupSpec>& GroupsOf(const Place& step) const {
    return JobOf(step).spec.Alternative(static_cast<std::size_t>(step.alternative));
  }

  const Plan& plan_;
  const std::set<std::string> started_;  // job groups, before the plan
  World world_;                          // after the steps so far
  Ledger ledger_;
  std::set<std::string> placing_;   // jobs that the plan places tasks of
  std::set<std::string> answered_;  // jobs with a Wait or Reject so far
  std::set<std::string> blocks_;    // jobs or job groups that had their turn
  std::string block_;
};

std::string PlanCheck::Run() {
  bool evictions_are_over = false;
  for (std::size_t i = 0; i < plan_.steps().size(); ++i) {
    const Step& step = plan_.steps()[i];
    const bool evicts = std::holds_alternative<Evict>(step);
    std::string wrong;
    if (!evicts && !evictions_are_over) {
      evictions_are_over = true;
      wrong = ForgottenEviction();
      if (!wrong.empty()) return wrong;
    }
    if (evicts && evictions_are_over) wrong = "evictions come before all other steps";
    if (wrong.empty()) wrong = std::visit([this](const auto& s) { return OfStep(s); }, step);
    if (wrong.empty()) continue;
    const std::string text = std::visit([](const auto& s) { return Text(s); }, step);
    return absl::StrCat("steps[", i, "], ", text, ": ", wrong);
  }
  std::string wrong = evictions_are_over ? "" : ForgottenEviction();
  return wrong.empty() ? WrongAfterPlan() : wrong;
}

std::string PlanCheck::OfStep(const Evict& step) {
  std::string wrong = WrongEviction(step);
  if (wrong.empty()) world_.BeginEviction(step);
  return wrong;
}

std::string PlanCheck::WrongEviction(const Evict& step) const {
  const auto job = world_.jobs.find(step.task.job);
  if (job == world_.jobs.end()) return "there is no such job";
  const GroupAndIndex id{step.task.group, step.task.index};
  const auto it = job->second.tasks.find(id);
  if (it == job->second.tasks.end()) return "the task was never placed";
  const Task& task = it->second;
  if (task.phase == Phase::kEvicting) return "the task is being evicted already";
  if (!task.Placed()) return "the task is not placed";
  if (task.last_attempt != step.task.attempt) {
    return absl::StrCat("it is attempt ", task.last_attempt, " that is placed");
  }
  if (task.node != step.node) return absl::StrCat("the task is on node '", task.node, "'");
  if (!IsTrue(step.cause, job->second, id, world_.now)) return "the cause is not true";
  return "";
}

std::string PlanCheck::ForgottenEviction() const {
  for (const auto& [name, job] : world_.jobs) {
    for (const auto& [id, task] : job.tasks) {
      if (task.phase != Phase::kAssumed && task.phase != Phase::kRunning) continue;
      for (std::size_t i = 0; i < kEvictCauses; ++i) {
        const auto cause = static_cast<EvictCause>(i);
        if (!IsTrue(cause, job, id, world_.now)) continue;
        return absl::StrCat("'", name, "/", id.first, "/", id.second, "' on '", task.node,
                            "' is not evicted, and must be: ", std::string(EvictCauseName(cause)));
      }
    }
  }
  return "";
}

std::string PlanCheck::OfStep(const Wait& step) { return WrongAnswer(step.job, step.why, true); }

std::string PlanCheck::OfStep(const Reject& step) { return WrongAnswer(step.job, step.why, false); }

std::string PlanCheck::WrongAnswer(const std::string& name, const WaitReason& why, bool is_wait) {
  const auto it = world_.jobs.find(name);
  if (it == world_.jobs.end()) return "there is no such job";
  const Job& job = it->second;
  if (job.Ending()) return "the job is cancelled or has failed, and is told nothing";
  if (!answered_.insert(name).second) return "the job has a Wait or Reject already";
  if (why.reason == Reason::kNone) return "it gives no reason";
  if (job.BeingReleased(world_.now) && (!is_wait || why.reason != Reason::kBeingReleased)) {
    return absl::StrCat("the job is being released, so it waits with BeingReleased, not with ",
                        std::string(ReasonName(why.reason)));
  }
  return NotAdjacent(name);
}

std::string PlanCheck::NotAdjacent(const std::string& name) {
  const Job& job = world_.jobs.at(name);
  std::string block = absl::StrCat("job '", name, "'");
  // Jobs that start together are decided as one.
  if (PlacesOfGroupNotStarted(job)) {
    block = absl::StrCat("job group '", job.spec.co_schedule->group, "'");
  }
  if (block == block_) return "";
  block_ = block;
  if (blocks_.insert(block).second) return "";
  return absl::StrCat("the steps of ", block, " are not next to each other");
}

bool PlanCheck::PlacesOfGroupNotStarted(const Job& job) const {
  if (!job.spec.co_schedule || started_.contains(job.spec.co_schedule->group)) return false;
  for (const std::string& member : world_.Members(job.spec.co_schedule->group)) {
    if (placing_.contains(member)) return true;
  }
  return false;
}

std::string PlanCheck::OfStep(const Place& step) {
  for (const auto rule :
       {&PlanCheck::WrongJob, &PlanCheck::WrongAlternative, &PlanCheck::WrongTask,
        &PlanCheck::WrongAttempt, &PlanCheck::WrongRank, &PlanCheck::IncompleteJobGroup,
        &PlanCheck::WrongNode, &PlanCheck::WrongOnNode}) {
    std::string wrong = (this->*rule)(step);
    if (!wrong.empty()) return wrong;
  }
  std::string wrong = NotAdjacent(step.task.job);
  if (!wrong.empty()) return wrong;
  world_.Assume(step);
  ledger_.Add(world_, step.node, &world_.nodes.at(step.node), JobOf(step),
              *FindGroup(GroupsOf(step), step.task.group), step.devices, step.grant.instances);
  return "";
}

std::string PlanCheck::WrongJob(const Place& step) const {
  const auto it = world_.jobs.find(step.task.job);
  if (it == world_.jobs.end()) return "there is no such job";
  const Job& job = it->second;
  if (job.cancelled) return "the job is cancelled";
  if (job.failed) return "the job has failed";
  if (job.BeingReleased(world_.now)) return "the job is being released";
  return "";
}

std::string PlanCheck::WrongAlternative(const Place& step) const {
  const Job& job = JobOf(step);
  const std::size_t alternatives = job.spec.alternatives.size() + 1;
  const auto which = static_cast<std::size_t>(step.alternative);
  if (step.alternative < 0 || which >= alternatives) {
    return absl::StrCat("alternative ", step.alternative, ", the job has ", alternatives);
  }
  if (!job.Pinned() || which == job.alternative) return "";
  return absl::StrCat("alternative ", which, ", but the job is on ", job.alternative,
                      " while a task of it is placed or has finished");
}

std::string PlanCheck::WrongTask(const Place& step) const {
  const TaskGroupSpec* const group = FindGroup(GroupsOf(step), step.task.group);
  if (group == nullptr) {
    return absl::StrCat("alternative ", step.alternative, " has no group '", step.task.group, "'");
  }
  if (step.task.index < 0 || step.task.index >= group->count) {
    return absl::StrCat("index ", step.task.index, ", the group has ", group->count, " tasks");
  }
  const auto& tasks = JobOf(step).tasks;
  const auto it = tasks.find({step.task.group, step.task.index});
  if (it == tasks.end() || it->second.phase == Phase::kPending) return "";
  return it->second.phase == Phase::kFinished ? "the task has finished"
                                              : "the task is placed already";
}

std::string PlanCheck::WrongAttempt(const Place& step) const {
  const std::int64_t next = JobOf(step).NextAttempt({step.task.group, step.task.index},
                                                    static_cast<std::size_t>(step.alternative));
  if (step.task.attempt >= next) return "";
  return absl::StrCat("attempt ", step.task.attempt, " is over; the next one is ", next);
}

std::string PlanCheck::WrongRank(const Place& step) const {
  std::int64_t rank = step.task.index;
  for (const TaskGroupSpec& group : GroupsOf(step)) {
    if (group.name == step.task.group) break;
    rank += group.count;
  }
  return step.rank == rank ? "" : absl::StrCat("rank ", step.rank, ", it is ", rank);
}

std::string PlanCheck::IncompleteJobGroup(const Place& step) const {
  const auto& wish = JobOf(step).spec.co_schedule;
  if (!wish || started_.contains(wish->group)) return "";
  const std::size_t members = world_.Members(wish->group).size();
  if (members >= static_cast<std::size_t>(wish->size)) return "";
  return absl::StrCat("only ", members, " of ", wish->size, " jobs of job group '", wish->group,
                      "' have been submitted");
}

std::string PlanCheck::WrongNode(const Place& step) const {
  const auto it = world_.nodes.find(step.node);
  if (it == world_.nodes.end()) return "there is no such node";
  return it->second.cordoned ? "the node is cordoned" : "";
}

std::string PlanCheck::WrongOnNode(const Place& step) const {
  const Placing placing{.step = step,
                        .job = JobOf(step),
                        .group = *FindGroup(GroupsOf(step), step.task.group),
                        .node = world_.nodes.at(step.node)};
  std::string wrong = ledger_.WrongDevices(placing);
  if (wrong.empty()) wrong = ledger_.WrongRoom(world_, placing);
  if (wrong.empty()) wrong = ledger_.WrongGrant(world_, placing);
  if (wrong.empty()) wrong = ledger_.WrongModel(world_, placing);
  if (wrong.empty()) wrong = ledger_.WrongNumberOnNode(placing);
  if (wrong.empty()) wrong = ledger_.WrongCompany(placing);
  return wrong;
}

std::string PlanCheck::WrongAfterPlan() const {
  for (const auto& [name, job] : world_.jobs) {
    std::string wrong = NotWhole(name, job);
    if (wrong.empty()) wrong = WrongNumberOfAnswers(name, job);
    if (!wrong.empty()) return absl::StrCat("after the plan, job '", name, "' ", wrong);
  }
  return "";
}

// A job that the plan places nothing of may be less than whole: it holds nothing, is in repair
// before its deadline, or ForgottenEviction has seen that it is taken back.
std::string PlanCheck::NotWhole(const std::string& name, const Job& job) const {
  const TaskGroupSpec* const group = job.GroupBelowMinimum();
  if (group == nullptr) return "";
  const std::string numbers =
      absl::StrCat("has ", job.Count(*group).present, " of the minimum of ",
                   MinAvailable(*group, job.spec.kind), " tasks of group '", group->name, "'");
  if (placing_.contains(name)) return absl::StrCat(numbers, ", but tasks of it are placed");
  if (!PlacesOfGroupNotStarted(job)) return "";
  return absl::StrCat(numbers, ", but jobs of its job group '", job.spec.co_schedule->group,
                      "' are placed");
}

std::string PlanCheck::WrongNumberOfAnswers(const std::string& name, const Job& job) const {
  if (job.Ending()) return "";
  std::int64_t pending = 0;
  std::int64_t evicting = 0;
  for (const TaskGroupSpec& group : job.Groups()) {
    pending += job.Count(group).pending;
    evicting += job.Count(group).evicting;
  }
  // What is still being evicted cannot be placed now, so only a job that is taken back as a whole
  // has to be told; others may be.
  const std::int64_t must = pending + (job.BeingReleased(world_.now) ? evicting : 0);
  const bool answered = answered_.contains(name);
  if (must > 0 && !answered) {
    return absl::StrCat("wants ", must, " more tasks placed and has neither Wait nor Reject");
  }
  if (answered && pending + evicting == 0) return "has all that it wants, but a Wait or Reject";
  return "";
}

}  // namespace

absl::Status CheckPlan(World world, const Plan& plan) {
  if (plan.now() < world.now) {
    return absl::InternalError(
        absl::StrCat("the plan is for time ", plan.now(), ", but it is ", world.now, " already"));
  }
  world.AdvanceTo(plan.now());
  const std::string wrong = PlanCheck(std::move(world), plan).Run();
  return wrong.empty() ? absl::OkStatus() : absl::InternalError(wrong);
}

}  // namespace gpusched::validator
