// Filters: several filters as one, asked in order.
#ifndef GPUSCHED_POLICY_FILTER_FILTERS_H_
#define GPUSCHED_POLICY_FILTER_FILTERS_H_

#include <tuple>
#include <utility>

#include "gpusched/policy/concepts.h"

namespace gpusched {

// Itself a NodeFilter, which answers with the first refusal.
template <NodeFilter... Fs>
class Filters {
 public:
  Filters() = default;
  explicit Filters(Fs... filters) requires(sizeof...(Fs) > 0) : filters_(std::move(filters)...) {}

  Shortfall operator()(const NodeView& node, const Shape& shape) const {
    Shortfall first;
    std::apply(
        [&](const Fs&... filter) {
          // Stops at the first that refuses.
          (void)((first = filter(node, shape), first.verdict.ok()) && ...);
        },
        filters_);
    return first;
  }

  // Calls `visit` with the answer of every filter, for a full account.
  template <class Visitor>
  void ForEach(const NodeView& node, const Shape& shape, Visitor&& visit) const {
    std::apply([&](const Fs&... filter) { (visit(filter(node, shape)), ...); }, filters_);
  }

 private:
  std::tuple<Fs...> filters_;
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_FILTER_FILTERS_H_
