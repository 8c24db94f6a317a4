// Shape: a validated, interned request, in the form that the hot path reads.
#ifndef GPUSCHED_STATE_SHAPE_H_
#define GPUSCHED_STATE_SHAPE_H_

#include <cstdint>

#include "gpusched/base/quantity.h"
#include "gpusched/spec/task_kind.h"
#include "gpusched/state/model_table.h"

namespace gpusched {

// See ShapeSpec for the meaning of the amounts. Models are a mask; an ask for any model is
// kAnyModel, so that "is it allowed" is one AND.
struct Shape {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t gpu_mem_mib = 0;
  std::int32_t gpu_milli = 0;
  std::int32_t gpu_count = 0;
  ModelMask models = kAnyModel;

  bool asks_gpu() const { return gpu_count > 0; }
  // A part of one device, as opposed to whole ones.
  bool shares() const { return gpu_count == 1 && gpu_milli < kMilli; }
  std::int64_t gpu_milli_total() const { return std::int64_t{gpu_count} * gpu_milli; }
  TaskKind kind() const { return KindOf(gpu_count, gpu_milli); }

  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_SHAPE_H_
