// From absl::Status to the exceptions of libgpusched.errors: the one place that maps codes.
#ifndef GPUSCHED_BINDINGS_STATUS_H_
#define GPUSCHED_BINDINGS_STATUS_H_

#include <pybind11/pybind11.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace gpusched::bindings {

namespace py = pybind11;

// Throws the Python exception that belongs to the code of a status that is not OK.
[[noreturn]] void Raise(const absl::Status& status);

// Throws PolicyError: a policy written in Python broke its promises.
[[noreturn]] void RaisePolicyError(const std::string& message);

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) Raise(status);
}

template <class T>
T ValueOrRaise(absl::StatusOr<T> result) {
  if (!result.ok()) Raise(result.status());
  return *std::move(result);
}

}  // namespace gpusched::bindings

#endif  // GPUSCHED_BINDINGS_STATUS_H_
