// MigInstance: a part of a device that MIG (Multi-Instance GPU) keeps apart from the others.
#ifndef GPUSCHED_SPEC_MIG_INSTANCE_H_
#define GPUSCHED_SPEC_MIG_INSTANCE_H_

#include <cstdint>
#include <string>

namespace gpusched {

// A profile of the device's model at one of its legal starts, in memory slices: "3g.20gb" at 4.
struct MigPartition {
  std::string profile;
  std::int32_t start = 0;

  friend bool operator==(const MigPartition&, const MigPartition&) = default;
};

// The same on one device of a node.
struct MigInstance {
  std::int32_t device = 0;
  std::string profile;
  std::int32_t start = 0;

  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

// By device, then start: the order in which lists of instances are kept.
inline bool Before(const MigInstance& a, const MigInstance& b) {
  return a.device != b.device ? a.device < b.device : a.start < b.start;
}

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_MIG_INSTANCE_H_
