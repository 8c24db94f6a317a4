#include "gpusched/index/ever_fits.h"

#include <algorithm>

#include "gpusched/policy/filter/fit_filters.h"

namespace gpusched {
namespace {

bool Could(const NodeView& node, const Shape& shape) {
  bool never = false;
  FitFilters().ForEach(node, shape, [&](const Shortfall& shortfall) {
    never = never || shortfall.verdict.outcome == Outcome::kNever;
  });
  return !never;
}

bool AnyCould(const ClusterState& state, const Shape& shape) {
  const auto order = state.nodes().order();
  return std::any_of(order.begin(), order.end(),
                     [&](std::uint32_t slot) { return Could(state.node(slot), shape); });
}

}  // namespace

bool EverFits::operator()(const ClusterState& state, const Shape& shape) {
  const NodeTable& nodes = state.nodes();
  if (!nodes.changes().Is(identity_) || version_ != nodes.capacity_version()) {
    identity_ = nodes.changes().identity();
    version_ = nodes.capacity_version();
    known_.clear();
  }
  const ShapeId id = state.shapes().IdOf(shape);
  if (!id.has_value()) return AnyCould(state, shape);
  if (id.slot >= known_.size()) known_.resize(state.shapes().size(), Known::kNo);
  Known& known = known_[id.slot];
  if (known == Known::kNo) known = AnyCould(state, shape) ? Known::kFits : Known::kNever;
  return known == Known::kFits;
}

}  // namespace gpusched
