// TaskKind: how much GPU a task asks, as the coarse classes that packing studies report.
#ifndef GPUSCHED_SPEC_TASK_KIND_H_
#define GPUSCHED_SPEC_TASK_KIND_H_

#include <cstddef>
#include <cstdint>

#include "gpusched/base/quantity.h"

namespace gpusched {

enum class TaskKind : std::uint8_t {
  kCpuOnly,  // no GPU
  kShare,    // a part of one device
  kOne,
  kTwo,
  kFour,
  kEight,
  kOther,  // any other number of whole devices
};

inline constexpr std::size_t kTaskKinds = 7;

// The kind of a task that asks `gpu_milli` on each of `gpu_count` devices.
constexpr TaskKind KindOf(std::int64_t gpu_count, std::int64_t gpu_milli) {
  if (gpu_count == 0) return TaskKind::kCpuOnly;
  if (gpu_milli < kMilli) return TaskKind::kShare;
  switch (gpu_count) {
    case 1:
      return TaskKind::kOne;
    case 2:
      return TaskKind::kTwo;
    case 4:
      return TaskKind::kFour;
    case 8:
      return TaskKind::kEight;
    default:
      return TaskKind::kOther;
  }
}

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_TASK_KIND_H_
