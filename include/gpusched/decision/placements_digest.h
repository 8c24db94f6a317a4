// PlacementsDigest: one number for a whole sequence of placements.
#ifndef GPUSCHED_DECISION_PLACEMENTS_DIGEST_H_
#define GPUSCHED_DECISION_PLACEMENTS_DIGEST_H_

#include <cstdint>
#include <string_view>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/digest.h"
#include "gpusched/export.h"

namespace gpusched {

// Digests (sequence, task, node, devices, milli) in order of decision; equal digests mean equal
// placements, across versions, compilers and languages. A stranger recomputes it from a placements
// file as FNV-1a over one line a task, `seq,task,node,d|d|…,milli` and a newline, with node and
// devices empty for a task that was not placed and milli as asked on each device.
class GPUSCHED_EXPORT PlacementsDigest {
 public:
  void Add(std::int64_t sequence, std::string_view task, std::string_view node, DeviceMask devices,
           std::int64_t gpu_milli);

  std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_PLACEMENTS_DIGEST_H_
