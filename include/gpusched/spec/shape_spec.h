// ShapeSpec: what one task asks, as its owner describes it.
#ifndef GPUSCHED_SPEC_SHAPE_SPEC_H_
#define GPUSCHED_SPEC_SHAPE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

namespace gpusched {

// The request of a task: CPU, memory, and either no GPU (`gpu_count` 0), a part of one device
// (`gpu_count` 1, `gpu_milli` below 1000), or `gpu_count` whole devices (`gpu_milli` 1000).
// Checked by Validate (spec/validate.h) where it enters a state. Equal shapes are interned as one.
struct ShapeSpec {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t gpu_count = 0;
  std::int64_t gpu_milli = 0;    // on each of the devices
  std::int64_t gpu_mem_mib = 0;  // on each of the devices; 0 claims none
  // The models that will do, in any order; empty: any.
  std::vector<std::string> models;

  friend bool operator==(const ShapeSpec&, const ShapeSpec&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_SHAPE_SPEC_H_
