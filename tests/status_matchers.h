// What tests say about a Status: its code, and what its message must name.
#ifndef GPUSCHED_TESTS_STATUS_MATCHERS_H_
#define GPUSCHED_TESTS_STATUS_MATCHERS_H_

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gpusched {

// Whether the status has this code and its message holds every one of the parts.
inline testing::AssertionResult Refused(const absl::Status& status, absl::StatusCode code,
                                        std::initializer_list<std::string_view> parts = {}) {
  if (status.code() != code) {
    return testing::AssertionFailure()
           << "expected " << absl::StatusCodeToString(code) << ", got " << status.ToString();
  }
  const std::string message(status.message());
  for (const std::string_view part : parts) {
    if (message.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "no '" << part << "' in: " << message;
    }
  }
  return testing::AssertionSuccess();
}

template <class T>
testing::AssertionResult Refused(const absl::StatusOr<T>& result, absl::StatusCode code,
                                 std::initializer_list<std::string_view> parts = {}) {
  return Refused(result.status(), code, parts);
}

inline testing::AssertionResult IsOk(const absl::Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.ToString();
}

}  // namespace gpusched

#endif  // GPUSCHED_TESTS_STATUS_MATCHERS_H_
