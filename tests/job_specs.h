// Jobs in few words, to write tests with.
#ifndef GPUSCHED_TESTS_JOB_SPECS_H_
#define GPUSCHED_TESTS_JOB_SPECS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gpusched/spec/job_spec.h"

namespace gpusched {

inline TaskGroupSpec Group(std::string name, std::int64_t count, ShapeSpec shape) {
  TaskGroupSpec group;
  group.name = std::move(name);
  group.shape = std::move(shape);
  group.count = count;
  return group;
}

inline JobSpec Job(std::string name, std::vector<TaskGroupSpec> groups) {
  JobSpec job;
  job.name = std::move(name);
  job.groups = std::move(groups);
  return job;
}

// A batch job of one group, "main"; all of its tasks start together.
inline JobSpec Gang(std::string name, std::int64_t count, ShapeSpec shape) {
  return Job(std::move(name), {Group("main", count, std::move(shape))});
}

// A service of one group, "main"; one replica will do.
inline JobSpec Service(std::string name, std::int64_t count, ShapeSpec shape) {
  JobSpec job = Gang(std::move(name), count, std::move(shape));
  job.kind = JobKind::kService;
  return job;
}

// A batch job of one group, "main", whose tasks start one by one.
inline JobSpec Loose(std::string name, std::int64_t count, ShapeSpec shape) {
  JobSpec job = Gang(std::move(name), count, std::move(shape));
  job.groups[0].min_available = 0;
  return job;
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_JOB_SPECS_H_
