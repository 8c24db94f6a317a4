// EngineSettings: the numbers by which an engine works.
#ifndef GPUSCHED_ENGINE_SETTINGS_H_
#define GPUSCHED_ENGINE_SETTINGS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "gpusched/base/time.h"
#include "gpusched/export.h"

namespace gpusched {

// They belong to the state: they are saved and journalled with it.
struct EngineSettings {
  // Placed tasks that nobody acknowledged are queued again after this; above 0.
  Duration start_timeout = 5 * kMinute;
  // A gang that lost a member and is not whole again after this is released.
  Duration repair_timeout = 10 * kMinute;
  // A waiting job keeps younger ones off the GPU models that it allows.
  bool strict_fifo = false;
  // How many searches one job may take in a cycle for its minimum, over all its alternatives,
  // beyond one a task; 1 or more. A gang that would take more waits, and is never called impossible
  // because of it.
  std::int64_t gang_search_limit = 2000;

  friend bool operator==(const EngineSettings&, const EngineSettings&) = default;
};

// Errors: kInvalidArgument naming the number that is out of range.
GPUSCHED_EXPORT absl::Status Validate(const EngineSettings& settings);

}  // namespace gpusched

#endif  // GPUSCHED_ENGINE_SETTINGS_H_
