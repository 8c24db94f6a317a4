// TaskKey: the name of one attempt to run one task.
#ifndef GPUSCHED_SPEC_TASK_KEY_H_
#define GPUSCHED_SPEC_TASK_KEY_H_

#include <compare>
#include <cstdint>
#include <string>

namespace gpusched {

// Largest number of an attempt: 2^53, so that it stays exact in any language.
inline constexpr std::int64_t kMaxAttempt = std::int64_t{1} << 53;

// A task is (job, group, index). Attempts count from 1: a task that is lost, fails or expires is
// placed anew under the next number, so that late news of the former attempt is told apart.
struct TaskKey {
  std::string job;
  std::string group;
  std::int64_t index = 0;
  std::int64_t attempt = 1;

  // clang-tidy 14 takes the 0 that such a comparison is compared with for a null pointer.
  friend auto operator<=>(const TaskKey&,
                          const TaskKey&) = default;  // NOLINT(modernize-use-nullptr)
};

// "job/group/index"; unique, because a group's name has no '/'.
inline std::string TaskName(const TaskKey& task) {
  return task.job + '/' + task.group + '/' + std::to_string(task.index);
}

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_TASK_KEY_H_
