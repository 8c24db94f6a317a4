// A policy is const while deciding: one that would remember things between calls is refused.
// MUST_NOT_COMPILE: PlacementScore
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/weighted.h"

namespace {

#ifdef MUST_NOT_COMPILE
#define GPUSCHED_TEST_CONST
#else
#define GPUSCHED_TEST_CONST const
#endif

struct Mine {
  static constexpr gpusched::Reads kReads = gpusched::Reads::kNode;
  static constexpr gpusched::ScoreRange range() { return {0, 1}; }
  gpusched::Score operator()(const gpusched::NodeView&, const gpusched::Shape&,
                             gpusched::DeviceMask) GPUSCHED_TEST_CONST {
    return 1;
  }
};

}  // namespace

int main() {
  const gpusched::Weighted<Mine, gpusched::BestFit> sum({}, {500, 500});
  return static_cast<int>(sum.weights()[0]) - 500;
}
