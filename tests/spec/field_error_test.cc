#include "gpusched/spec/field_error.h"

#include <gtest/gtest.h>

namespace gpusched {
namespace {

TEST(FieldError, NamesPlaceFieldValueAndRemedy) {
  const absl::Status status = InvalidField("node 'n1'", "cpu_milli", "-4", "use 0 to 9");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "node 'n1': cpu_milli is -4; use 0 to 9");
}

TEST(FieldError, LeavesOutAnEmptyPlace) {
  const absl::Status status =
      FieldError(absl::StatusCode::kNotFound, "", "task", Quoted("t"), "it is not running");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "task is 't'; it is not running");
}

absl::Status PassOn(const absl::Status& status, bool& reached) {
  GPUSCHED_RETURN_IF_ERROR(status);
  reached = true;
  return absl::OkStatus();
}

TEST(ReturnIfError, LeavesOnAnErrorOnly) {
  bool reached = false;
  EXPECT_EQ(PassOn(absl::NotFoundError("x"), reached), absl::NotFoundError("x"));
  EXPECT_FALSE(reached);
  EXPECT_TRUE(PassOn(absl::OkStatus(), reached).ok());
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace gpusched
