#include "gpusched/engine/explain.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "gpusched/base/quantity.h"
#include "gpusched/engine/blocked_starts.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// Orders shortfalls by the share of what is needed that is lacking. Without numbers, all of it is.
bool LacksMore(const Shortfall& a, const Shortfall& b) {
  const auto lack = [](const Shortfall& s) { return s.need == 0 ? 1 : s.need - s.have; };
  const auto need = [](const Shortfall& s) { return s.need == 0 ? 1 : s.need; };
  return Wide{lack(a)} * need(b) > Wide{lack(b)} * need(a);
}

}  // namespace

void RefusalBuilder::BeginNode(NodeId node) {
  EndNode();
  any_node_ = true;
  node_ = node;
  failing_ = 0;
  never_ = false;
  worst_ = {};
}

void RefusalBuilder::Add(const Shortfall& shortfall) {
  if (shortfall.verdict.ok()) return;
  ++refusal_.nodes_by_reason[static_cast<std::size_t>(shortfall.verdict.reason)];
  // What no event can mend outweighs what one can.
  const bool never = shortfall.verdict.outcome == Outcome::kNever;
  if (failing_ == 0 || (never && !never_) || (never == never_ && LacksMore(shortfall, worst_))) {
    worst_ = shortfall;
  }
  never_ = never_ || never;
  ++failing_;
}

void RefusalBuilder::EndNode() {
  if (!any_node_) return;
  if (!never_) all_never_ = false;
  if (failing_ == 0) return;
  const auto nearer = [&] {
    if (nearest_failing_ == 0 || failing_ != nearest_failing_) {
      return nearest_failing_ == 0 || failing_ < nearest_failing_;
    }
    if (LacksMore(refusal_.shortfall, worst_)) return true;
    return nearest_never_ && !never_ && !LacksMore(worst_, refusal_.shortfall);
  };
  if (!nearer()) return;
  nearest_never_ = never_;
  nearest_failing_ = failing_;
  refusal_.nearest = node_;
  refusal_.shortfall = worst_;
}

Refusal RefusalBuilder::Finish() {
  EndNode();
  if (!any_node_) {
    refusal_.shortfall.verdict = Verdict::Wait(Reason::kNoNodes);
  } else {
    refusal_.outcome = all_never_ ? Outcome::kNever : Outcome::kWait;
  }
  return refusal_;
}

absl::Status ScoreOutOfRange(const ClusterState& state, std::uint32_t node_slot, Score score,
                             ScoreRange range) {
  const std::string node(state.node_name(state.nodes().id(node_slot)));
  return FieldError(absl::StatusCode::kInternal, "placement policy",
                    absl::StrCat("score of node '", node, "'"), absl::StrCat(score),
                    absl::StrCat("its declared range is ", range.lo, " to ", range.hi));
}

std::string ShortfallText(Reason reason, std::int64_t need, std::int64_t have) {
  switch (reason) {
    case Reason::kModelNotAllowed:
      return "no device is of a model that the task allows";
    case Reason::kInsufficientCpu:
      return absl::StrCat(need, " cpu_milli asked, ", have, " free");
    case Reason::kInsufficientMemory:
      return absl::StrCat(need, " mem_mib asked, ", have, " free");
    case Reason::kNoDeviceWithRoom:
      return absl::StrCat(need, " gpu_milli of one device asked, ", have, " free");
    case Reason::kInsufficientGpuMemory:
      return absl::StrCat(need, " gpu_mem_mib of each device asked, ", have, " free");
    case Reason::kTooFewWholeDevices:
      return absl::StrCat(need, need == 1 ? " whole device asked, " : " whole devices asked, ",
                          have, " free");
    case Reason::kFilteredByUser:
      return "a filter of yours refused it";
    case Reason::kCordoned:
      return "it is cordoned";
    case Reason::kTooManyTasksOnNode:
      return absl::StrCat("it would be task ", need, " of the group there, ", have, " are allowed");
    case Reason::kAffinity:
      return "no task of a job with the wanted label is there";
    case Reason::kAntiAffinity:
      return "a task of a job with an unwanted label is there";
    case Reason::kGangDoesNotFit:
      return absl::StrCat(have, " of ", need, " tasks that must start together find a place");
    case Reason::kJobGroupIncomplete:
      return absl::StrCat(have, " of ", need, " jobs that start together are there");
    case Reason::kNoNodes:
      return "the cluster has no nodes";
    case Reason::kBeingReleased:
      return "its tasks are being evicted; it is placed anew when they are gone";
    case Reason::kBehindInPool:
      return "an older job waits for the same GPU models";
    case Reason::kNoMigPlacement:
      return absl::StrCat(need, need == 1 ? " MIG instance asked, " : " MIG instances asked, ",
                          have, " can be placed");
    case Reason::kSharingNotOffered:
      return "no device there is shared in a way that the task allows";
    case Reason::kNone:
      break;
  }
  return "";
}

std::string RefusalText(const ClusterState& state, const Refusal& refusal, const Shape* shape) {
  if (refusal.dominant() == Reason::kNoNodes) return "the cluster has no nodes";
  std::string text = absl::StrCat("0 of ", state.node_count(), " nodes take it:");
  std::string_view separator = " ";
  for (std::size_t i = 0; i < kReasons; ++i) {
    if (refusal.nodes_by_reason[i] == 0) continue;
    absl::StrAppend(&text, std::string(separator), refusal.nodes_by_reason[i], " ",
                    std::string(ReasonName(static_cast<Reason>(i))));
    separator = ", ";
  }
  absl::StrAppend(
      &text, "; nearest is '", std::string(state.node_name(refusal.nearest)),
      "': ", ShortfallText(refusal.dominant(), refusal.shortfall.need, refusal.shortfall.have));
  if (refusal.dominant() == Reason::kNoMigPlacement && shape != nullptr) {
    const auto blocked = BlockedStarts(state, refusal.nearest, *shape);
    if (!blocked.empty()) absl::StrAppend(&text, "; ", BlockedStartsText(blocked));
  }
  if (refusal.outcome == Outcome::kNever) {
    absl::StrAppend(&text, "; it would not fit even on empty nodes");
  }
  return text;
}

}  // namespace gpusched
