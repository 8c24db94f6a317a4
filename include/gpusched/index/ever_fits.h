// EverFits: could any node of the cluster take a task if it were empty?
#ifndef GPUSCHED_INDEX_EVER_FITS_H_
#define GPUSCHED_INDEX_EVER_FITS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "gpusched/export.h"
#include "gpusched/state/cluster_state.h"

namespace gpusched {

// Tells a task that has to wait from one that no release will help: the outcome of its refusal, as
// far as it is about room. It depends on what nodes have and not on what is used, so answers are
// kept by shape until that changes. Thread-compatible.
class GPUSCHED_EXPORT EverFits {
 public:
  // O(1) if it was asked before; else up to the first node that could, at most O(nodes × devices).
  bool operator()(const ClusterState& state, const Shape& shape);

 private:
  enum class Known : std::uint8_t { kNo, kFits, kNever };

  std::vector<Known> known_;  // by shape slot
  std::shared_ptr<const void> identity_;
  std::uint64_t version_ = 0;
};

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_EVER_FITS_H_
