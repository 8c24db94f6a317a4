// Who is on which device, and whether one more may come: docs/devices.md, written down once more.
#ifndef GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_DEVICES_H_
#define GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/decision/device_grant.h"
#include "gpusched/decision/plan_validator.h"
#include "gpusched/spec/gpu_model.h"
#include "gpusched/spec/node_spec.h"
#include "gpusched/spec/shape_spec.h"

namespace gpusched::validator {

// One dimension of a node or device, in its unit.
struct Room {
  std::string what;
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::int64_t foreign = 0;
  std::int64_t held = 0;  // for other jobs
};

// That there is not as much left, with all numbers; empty: there is. Who asks nothing adds nothing,
// even where less than nothing is free.
std::string Lacking(const Room& room, std::int64_t need);

// One task, hold, or MIG instance of one, on one device.
struct Occupant {
  std::int64_t milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t parts = 0;  // replicas or compute slices
  bool whole = false;
  bool instance = false;
  bool media = false;
  bool held = false;             // it is a hold's
  std::int64_t first_slice = 0;  // of an instance
  std::int64_t slices = 0;
};

// A device as it is described, with its geometry (or null) and what others use of it.
struct DeviceFacts {
  const DeviceSpec& spec;
  const MigGeometrySpec* geometry = nullptr;
  std::int64_t foreign_milli = 0;
  std::size_t index = 0;  // on its node
};

// What a task of the shape has of the device, as one of its instances if there is one.
Occupant OccupantOf(const DeviceFacts& device, const ShapeSpec& shape, const MigInstance* instance);

// Adds up. Memory is counted where the device states it.
DeviceLoad LoadOf(const DeviceFacts& device, const std::vector<Occupant>& occupants);

// What is wrong with the number or order of devices and instances that the shape asks; empty: as it
// should be.
std::string WrongNumber(const ShapeSpec& shape, DeviceMask devices,
                        const std::vector<MigInstance>& instances);

// Why a task of the shape may not come to the device beside these, as this instance or (null)
// without one; empty: it may. The number of instances is right.
std::string WhyNot(const DeviceFacts& device, const std::vector<Occupant>& there,
                   const ShapeSpec& shape, const MigInstance* instance);

// What a plan has to say of it.
DeviceGrant GrantFor(const DeviceFacts& device, const ShapeSpec& shape,
                     const std::vector<MigInstance>& instances);

}  // namespace gpusched::validator

#endif  // GPUSCHED_SRC_DECISION_PLAN_VALIDATOR_DEVICES_H_
