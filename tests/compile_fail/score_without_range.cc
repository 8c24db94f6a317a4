// A struct that declares no range is no placement score, so no scheduler takes it.
// MUST_NOT_COMPILE: PlacementScore
#include "gpusched/engine/scheduler.h"

namespace {

struct Mine {
  static constexpr gpusched::Reads kReads = gpusched::Reads::kNode;
#ifndef MUST_NOT_COMPILE
  static constexpr gpusched::ScoreRange range() { return {0, 1}; }
#endif
  gpusched::Score operator()(const gpusched::NodeView&, const gpusched::Shape&,
                             gpusched::DeviceMask) const {
    return 1;
  }
};

}  // namespace

int main() {
  gpusched::ClusterState state;
  gpusched::BasicScheduler<Mine> scheduler(state, Mine());
  return static_cast<int>(scheduler.sequence());
}
