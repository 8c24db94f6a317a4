#include "gpusched/spec/field_error.h"

#include <string>

namespace gpusched {

absl::Status FieldError(absl::StatusCode code, std::string_view where, std::string_view field,
                        std::string_view value, std::string_view remedy) {
  std::string message;
  if (!where.empty()) message.append(where).append(": ");
  message.append(field).append(" is ").append(value).append("; ").append(remedy);
  return absl::Status(code, message);
}

absl::Status InvalidField(std::string_view where, std::string_view field, std::string_view value,
                          std::string_view remedy) {
  return FieldError(absl::StatusCode::kInvalidArgument, where, field, value, remedy);
}

std::string Quoted(std::string_view name) { return std::string("'").append(name).append("'"); }

}  // namespace gpusched
