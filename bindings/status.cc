#include "status.h"

namespace gpusched::bindings {
namespace {

const char* ExceptionName(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return "InvalidSpec";
    case absl::StatusCode::kAlreadyExists:
      return "AlreadyExists";
    case absl::StatusCode::kNotFound:
      return "NotFound";
    case absl::StatusCode::kFailedPrecondition:
      return "PreconditionFailed";
    case absl::StatusCode::kResourceExhausted:
      return "LimitExceeded";
    case absl::StatusCode::kCancelled:
      return "Cancelled";
    case absl::StatusCode::kDataLoss:
      return "CorruptData";
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kPermissionDenied:
      return "Unavailable";
    default:
      return "InternalError";
  }
}

[[noreturn]] void RaiseNamed(const char* name, const std::string& message) {
  // Looked up on the error path only; by then the package is imported.
  const py::object type = py::module_::import("libgpusched.errors").attr(name);
  PyErr_SetObject(type.ptr(), py::str(message).ptr());
  throw py::error_already_set();
}

}  // namespace

void Raise(const absl::Status& status) {
  RaiseNamed(ExceptionName(status.code()), std::string(status.message()));
}

void RaisePolicyError(const std::string& message) { RaiseNamed("PolicyError", message); }

}  // namespace gpusched::bindings
