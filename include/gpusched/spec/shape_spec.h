// ShapeSpec: what one task asks, as its owner describes it.
#ifndef GPUSCHED_SPEC_SHAPE_SPEC_H_
#define GPUSCHED_SPEC_SHAPE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/spec/sharing_mode.h"

namespace gpusched {

// The request of a task: CPU, memory, and one of
//   no GPU           gpu_count 0
//   whole devices    gpu_count n, gpu_milli 1000
//   a share          gpu_count 1, gpu_milli below 1000, of one device
//   device memory    gpu_count 1, gpu_milli 0, gpu_mem_mib m: any device or part of one that has it
//   a replica        gpu_count 1, gpu_milli 0, gpu_mem_mib 0, sharing only kMps or kTimeSlicing
//   MIG instances    gpu_count n, gpu_milli 0, gpu_mem_mib 0, mig_profile
// Checked by Validate (spec/validate.h) where it enters a state. Equal shapes are interned as one.
struct ShapeSpec {
  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t gpu_count = 0;
  std::int64_t gpu_milli = 0;    // on each of the devices
  std::int64_t gpu_mem_mib = 0;  // on each of the devices; 0 claims none
  // The models that will do, in any order; empty: any.
  std::vector<std::string> models;
  // The MIG profile of each of the gpu_count instances; empty: none is asked.
  std::string mig_profile = {};
  // How the task may have its part of a device, in any order; empty: a share in any mode but kMig,
  // device memory in any mode. Whole devices are always kExclusive, MIG instances kMig.
  std::vector<SharingMode> sharing = {};
  // MIG instances on a device each, rather than several on one.
  bool distinct_devices = false;

  friend bool operator==(const ShapeSpec&, const ShapeSpec&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_SHAPE_SPEC_H_
