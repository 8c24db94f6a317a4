// JobOrder: which waiting job is looked at first.
#ifndef GPUSCHED_POLICY_PRIORITY_JOB_ORDER_H_
#define GPUSCHED_POLICY_PRIORITY_JOB_ORDER_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "gpusched/state/state_view.h"

namespace gpusched {

// Compared number by number; the smaller key comes first, and equal keys in order of submission.
using JobKey = std::array<std::int64_t, 4>;

// A pure function of the state and one job.
template <class O>
concept JobOrder = std::copy_constructible<O> &&
    requires(const O& order, const StateView& view, const JobRow& job) {
  { order(view, job) } -> std::same_as<JobKey>;
};

// Higher priority first; at equal priority gangs that lost a member, so that new work does not take
// what they need; then the time of submission.
struct FifoPriority {
  JobKey operator()(const StateView&, const JobRow& job) const {
    const bool in_repair = job.header.repair_deadline != kNoDeadline;
    return {-job.spec.priority, in_repair ? 0 : 1, job.submit_time, 0};
  }
};

// Any order, chosen at run time.
class AnyJobOrder {
 public:
  AnyJobOrder() : AnyJobOrder(FifoPriority{}) {}
  // Asked in this order: whether this very class is a JobOrder depends on this constructor.
  template <class O>
  // NOLINTNEXTLINE(google-explicit-constructor)
  requires(!std::same_as<O, AnyJobOrder>) && JobOrder<O> AnyJobOrder(O order)
      : key_(std::move(order)) {}

  JobKey operator()(const StateView& view, const JobRow& job) const { return key_(view, job); }

 private:
  std::function<JobKey(const StateView&, const JobRow&)> key_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_PRIORITY_JOB_ORDER_H_
