// FieldError: the one form of message for bad input: which field, what value, what would be right.
#ifndef GPUSCHED_SPEC_FIELD_ERROR_H_
#define GPUSCHED_SPEC_FIELD_ERROR_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gpusched/export.h"

namespace gpusched {

// Builds `<where>: <field> is <value>; <remedy>`, e.g. "node 'n1': cpu_milli is -4; use 0 to
// 1099511627776". `where` names the object (a node, a file with its line) and may be empty.
GPUSCHED_EXPORT absl::Status FieldError(absl::StatusCode code, std::string_view where,
                                        std::string_view field, std::string_view value,
                                        std::string_view remedy);

// The same with code kInvalidArgument, by far the commonest.
GPUSCHED_EXPORT absl::Status InvalidField(std::string_view where, std::string_view field,
                                          std::string_view value, std::string_view remedy);

// Writes a name the way messages quote it: 'n1'.
GPUSCHED_EXPORT std::string Quoted(std::string_view name);

}  // namespace gpusched

// Leaves the calling function with the status of `expr` unless it is OK.
#define GPUSCHED_RETURN_IF_ERROR(expr)                                                          \
  do {                                                                                          \
    if (::absl::Status gpusched_status = (expr); !gpusched_status.ok()) return gpusched_status; \
  } while (false)

#endif  // GPUSCHED_SPEC_FIELD_ERROR_H_
