// Effect: what an event has changed, beyond what it says itself.
#ifndef GPUSCHED_DECISION_EFFECT_H_
#define GPUSCHED_DECISION_EFFECT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpusched/spec/task_key.h"

namespace gpusched {

enum class JobEnd : std::uint8_t { kFinished, kFailed, kCancelled };

// A job that has left the engine; its name is free again.
struct JobEnded {
  std::string job;
  JobEnd how = JobEnd::kFinished;
};

// The answer to an event or an abort that was accepted. Lists are in order of job, group, index.
struct Effect {
  bool changed = false;
  // If nothing changed: why, e.g. "attempt 1 of 'j/main/0' is over; attempt 2 is pending".
  std::string note;
  // Attempts that are over and whose tasks wait again under the next number; not those of tasks
  // that are not wanted any more. If one of these still runs somewhere, it is nobody's: stop it.
  std::vector<TaskKey> requeued;
  std::vector<JobEnded> ended;
  std::vector<std::string> expired_holds;
};

}  // namespace gpusched

#endif  // GPUSCHED_DECISION_EFFECT_H_
