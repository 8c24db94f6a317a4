// The part of Cycle that says why a job waits, and who is in whose way.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/cycle.h"
#include "gpusched/engine/explain.h"

namespace gpusched {
namespace {

// How many shares, whole devices or instances an empty device could give to tasks of a shape, at
// most `most`; never too few.
std::int64_t PartsWhenEmpty(const NodeView& node, std::size_t device, const Shape& shape,
                            std::int64_t most) {
  const DeviceLedger& ledger = node.device_ledgers()[device];
  const DeviceFree empty =
      FreeWhenEmpty(ledger, node.devices()[device].model, node.geometry(device));
  const OfferMask wants = shape.wants();
  const auto offered = static_cast<OfferMask>(empty.offers & wants);
  std::int64_t parts = 0;
  if (DeviceFits(empty, shape, wants)) {
    parts = most;
    const auto cap = [&](std::int64_t there, std::int64_t ask) {
      if (ask > 0) parts = std::min(parts, there / ask);
    };
    cap(empty.gpu_milli, shape.gpu_milli);
    if (ledger.mem_tracked) cap(empty.mem_mib, shape.gpu_mem_mib);
    if (HasReplicas(ledger.sharing)) cap(ledger.replicas, 1);
    if ((offered & (kOfferWhole | kOfferWholeForMemory)) != 0) cap(1, 1);
  }
  if ((offered & kOfferMig) == 0) return parts;
  const std::int64_t instances = InstancesOn(node, device, empty, shape);
  // Who asks memory has one at a time, of several profiles as slices get fewer.
  return std::max(parts, instances > 0 && !shape.asks_profile() ? kMaxMigSlices : instances);
}

// How many tasks of a shape an empty node could hold, at most `most`.
std::int64_t BoundOn(const NodeTable& nodes, std::uint32_t slot, const Shape& shape,
                     std::int64_t most) {
  const auto cap = [&](std::int64_t capacity, std::int64_t ask) {
    if (ask > 0) most = std::min(most, capacity / ask);
  };
  cap(nodes.capacity(slot)[ResourceKind::kCpuMilli], shape.cpu_milli);
  cap(nodes.capacity(slot)[ResourceKind::kMemMib], shape.mem_mib);
  if (!shape.asks_gpu()) return most;
  const NodeView node(nodes, slot);
  // Several tasks may have their instances on one device, even if those of each may not.
  Shape one = shape;
  one.distinct_devices = false;
  const std::int64_t enough = most * shape.gpu_count;
  std::int64_t parts = 0;  // that the shape's devices could give
  for (std::size_t i = 0; i < node.devices().size() && parts < enough; ++i) {
    parts += PartsWhenEmpty(node, i, one, enough);
  }
  return std::min(most, parts / shape.gpu_count);
}

}  // namespace

bool Cycle::Restrict(Demand& demand, ModelMask models, Failure& failure) const {
  Shape& shape = demand.shape;
  shape = state_.shapes()[demand.shape_id];
  const auto behind = [&](const Blocker& blocker) {
    failure = {.outcome = Outcome::kWait, .why = {}, .for_room = true, .job = {}};
    failure.why.reason = Reason::kBehindInPool;
    failure.why.subject = blocker.job;
    return false;
  };
  if (shape.asks_gpu()) shape.models &= models;
  for (const Blocker& blocker : blockers_) {
    if (!shape.asks_gpu()) {
      if (blocker.cpu_only) return behind(blocker);
      continue;
    }
    const ModelMask open = shape.models & ~blocker.models;
    if (open == 0) return behind(blocker);
    if (open != shape.models && demand.blocked_by.empty()) demand.blocked_by = blocker.job;
    shape.models = open;
  }
  return true;
}

void Cycle::Block(const std::vector<JobId>& jobs) {
  if (!settings_.strict_fifo) return;
  for (const JobId job : jobs) {
    const JobSpec& spec = Row(job).spec;
    Blocker blocker{.job = spec.name};
    for (std::size_t a = 0; a <= spec.alternatives.size(); ++a) {
      for (const TaskGroupSpec& group : spec.Alternative(a)) {
        if (group.count == 0) continue;
        if (group.shape.gpu_count == 0) blocker.cpu_only = true;
        if (group.shape.gpu_count > 0 && group.shape.models.empty()) blocker.models = kAnyModel;
        for (const std::string& model : group.shape.models) {
          if (const auto index = state_.models().Find(model)) {
            blocker.models |= ModelMask{1} << *index;
          }
        }
      }
    }
    blockers_.push_back(std::move(blocker));
  }
}

bool Cycle::OwnsHold(JobId job) const {
  return std::find(hold_owners_.begin(), hold_owners_.end(), Row(job).spec.name) !=
         hold_owners_.end();
}

const Refusal* Cycle::FindFailed(const Demand& demand) {
  const JobFilter filter(state_, demand.job, demand.group);
  if (failed_.empty() || filter.asks() || OwnsHold(demand.job)) return nullptr;
  for (FailedShape& known : failed_) {
    if (known.shape != demand.shape_id || known.models != demand.shape.models) continue;
    if (known.placements != placements_) {
      known.refusal = placer_.Explain(state_, demand.shape, filter);
      known.placements = placements_;
    }
    return &known.refusal;
  }
  return nullptr;
}

std::int64_t Cycle::Bound(const Demand& demand) const {
  const std::int64_t wanted = std::ssize(demand.indices);
  const auto& limit = Row(demand.job).group_specs()[demand.group].max_tasks_per_node;
  std::int64_t sum = 0;
  for (const std::uint32_t slot : state_.nodes().order()) {
    sum += BoundOn(state_.nodes(), slot, demand.shape, std::min(wanted, limit.value_or(wanted)));
    if (sum >= wanted) return wanted;
  }
  return sum;
}

bool Cycle::TooMuchInAll(const std::vector<Demand>& demands) const {
  Resources asked;
  for (const Demand& demand : demands) {
    const std::int64_t tasks = std::ssize(demand.indices);
    asked[ResourceKind::kCpuMilli] += tasks * demand.shape.cpu_milli;
    asked[ResourceKind::kMemMib] += tasks * demand.shape.mem_mib;
    asked[ResourceKind::kGpuMilli] += tasks * demand.shape.gpu_milli_total();
  }
  const auto too_much = [&](ResourceKind kind) { return asked[kind] > state_.capacity()[kind]; };
  return too_much(ResourceKind::kCpuMilli) || too_much(ResourceKind::kMemMib) ||
         too_much(ResourceKind::kGpuMilli);
}

Cycle::Failure Cycle::Explain(const std::vector<Demand>& demands, std::size_t failing,
                              const GangResult& result) {
  const Demand& demand = demands[failing];
  std::int64_t all = 0;
  for (const Demand& one : demands) all += std::ssize(one.indices);
  const JobRow& row = Row(demand.job);
  const Refusal& refusal = result.refusal;
  const std::int64_t of_group = std::ssize(demand.indices);
  Failure failure;
  failure.outcome = refusal.outcome;
  failure.job = row.spec.name;
  failure.why = {.reason = refusal.dominant(),
                 .group = row.group_specs()[demand.group].name,
                 .subject = std::string(state_.node_name(refusal.nearest)),
                 .need = refusal.shortfall.need,
                 .have = refusal.shortfall.have};
  const bool gave_up = result.limit_reached && refusal.dominant() == Reason::kNone;
  if ((result.placed_of_all > 0 || gave_up) && failure.outcome != Outcome::kNever) {
    failure.why.reason = Reason::kGangDoesNotFit;
    failure.why.need = all;
    failure.why.have = result.placed_of_all;
  }
  // A cluster without nodes holds nothing. Several tasks may be too many where one is not.
  if (refusal.dominant() == Reason::kNoNodes) failure.outcome = Outcome::kNever;
  if (all > 1 && failure.outcome != Outcome::kNever) {
    if (const std::int64_t bound = Bound(demand); bound < of_group) {
      failure.outcome = Outcome::kNever;
      failure.why.reason = Reason::kGangDoesNotFit;
      failure.why.need = of_group;
      failure.why.have = bound;
    } else if (TooMuchInAll(demands)) {
      failure.outcome = Outcome::kNever;
    }
  }
  if (failure.outcome == Outcome::kNever && !demand.blocked_by.empty()) {
    failure.outcome = Outcome::kWait;
    failure.why = {.reason = Reason::kBehindInPool, .group = {}, .subject = demand.blocked_by};
  }
  if (accounting_ && std::ssize(account_.groups) < kMostGroupAccounts) {
    GroupAccount account{.job = row.spec.name,
                         .group = row.group_specs()[demand.group].name,
                         .alternative = row.alternative,
                         .need = of_group,
                         .placed = result.placed_of_demand,
                         .refusal = refusal,
                         .text = RefusalText(state_, refusal, &state_.shapes()[demand.shape_id])};
    if (result.limit_reached) {
      account.text += "; other ways to place the gang were looked for up to the search limit";
    }
    account_.groups.push_back(std::move(account));
  }
  return failure;
}

void Cycle::AnswerReason(JobId job, Reason reason) {
  Failure failure{.outcome = Outcome::kWait, .why = {}, .for_room = false, .job = {}};
  failure.why.reason = reason;
  Answer(job, failure);
}

void Cycle::Answer(JobId job, const Failure& failure) {
  const std::string& name = Row(job).spec.name;
  WaitReason why = failure.why;
  // Of jobs that start together, all wait for the same.
  if (!why.group.empty() && failure.job != name) why.group = failure.job + '/' + why.group;
  if (failure.outcome == Outcome::kNever) {
    steps_.emplace_back(Reject{.job = name, .why = why});
  } else {
    steps_.emplace_back(Wait{.job = name, .why = why});
  }
  if (job != account_for_) return;
  account_.outcome = failure.outcome;
  account_.why = why;
}

}  // namespace gpusched
