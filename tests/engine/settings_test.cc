#include "gpusched/engine/settings.h"

#include <gtest/gtest.h>

#include "gpusched/base/quantity.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(EngineSettings, TheDefaultsAreValid) { EXPECT_TRUE(IsOk(Validate(EngineSettings()))); }

TEST(EngineSettings, LimitsThemselvesAreValid) {
  EXPECT_TRUE(IsOk(Validate({.start_timeout = 1, .repair_timeout = 0, .gang_search_limit = 1})));
  EXPECT_TRUE(IsOk(Validate(
      {.start_timeout = kMaxTime, .repair_timeout = kMaxTime, .gang_search_limit = kMaxQuantity})));
}

TEST(EngineSettings, EachBadNumberIsNamed) {
  EXPECT_TRUE(Refused(Validate(EngineSettings{.start_timeout = 0}), kInvalid,
                      {"engine settings", "start_timeout", "is 0", "use 1 to"}));
  EXPECT_TRUE(Refused(Validate(EngineSettings{.start_timeout = kMaxTime + 1}), kInvalid,
                      {"start_timeout"}));
  EXPECT_TRUE(Refused(Validate(EngineSettings{.repair_timeout = -1}), kInvalid,
                      {"repair_timeout", "is -1", "use 0 to"}));
  EXPECT_TRUE(Refused(Validate(EngineSettings{.repair_timeout = kMaxTime + 1}), kInvalid,
                      {"repair_timeout"}));
  EXPECT_TRUE(Refused(Validate(EngineSettings{.gang_search_limit = 0}), kInvalid,
                      {"gang_search_limit", "is 0"}));
  EXPECT_TRUE(Refused(Validate(EngineSettings{.gang_search_limit = kMaxQuantity + 1}), kInvalid,
                      {"gang_search_limit"}));
}

TEST(EngineSettings, AreEqualIfEachNumberIs) {
  const EngineSettings settings;
  EXPECT_EQ(settings, EngineSettings());
  EXPECT_NE(settings, EngineSettings{.start_timeout = 7});
  EXPECT_NE(settings, EngineSettings{.repair_timeout = 7});
  EXPECT_NE(settings, EngineSettings{.strict_fifo = true});
  EXPECT_NE(settings, EngineSettings{.gang_search_limit = 7});
}

}  // namespace
}  // namespace gpusched
