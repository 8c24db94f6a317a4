#include "gpusched/engine/settings.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "gpusched/base/quantity.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {

absl::Status Validate(const EngineSettings& settings) {
  const auto check = [](std::string_view field, std::int64_t value, std::int64_t least,
                        std::int64_t most) {
    if (value >= least && value <= most) return absl::OkStatus();
    return InvalidField("engine settings", field, absl::StrCat(value),
                        absl::StrCat("use ", least, " to ", most));
  };
  GPUSCHED_RETURN_IF_ERROR(check("start_timeout", settings.start_timeout, 1, kMaxTime));
  GPUSCHED_RETURN_IF_ERROR(check("repair_timeout", settings.repair_timeout, 0, kMaxTime));
  return check("gang_search_limit", settings.gang_search_limit, 1, kMaxQuantity);
}

}  // namespace gpusched
