#include "gpusched/journal/codec.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpusched/base/time.h"
#include "gpusched/spec/field_error.h"

namespace gpusched {
namespace {

// A Plan's members are private, so their number is not checked by kMembers; a new one changes this.
static_assert(sizeof(Plan) == sizeof(Time) + 2 * sizeof(std::uint64_t) + sizeof(std::vector<Step>),
              "Plan has a new member: write and read it, then correct this sum");

template <class T>
std::string EncodeAny(const T& value) {
  ByteWriter out;
  Write(out, value);
  return out.Take();
}

template <class T>
absl::StatusOr<T> DecodeAny(const char* what, std::string_view bytes) {
  ByteReader in(bytes);
  T value;
  if (!Read(in, value)) {
    return FieldError(absl::StatusCode::kDataLoss, what,
                      absl::StrCat("byte ", in.position() + 1, " of ", bytes.size()), "unreadable",
                      "the record is damaged, or from another version of the library");
  }
  if (!in.AtEnd()) {
    return FieldError(absl::StatusCode::kDataLoss, what, "the record",
                      absl::StrCat(bytes.size(), " bytes long"),
                      absl::StrCat("it should end after byte ", in.position()));
  }
  return value;
}

}  // namespace

std::string Encode(const Event& event) { return EncodeAny(event); }

std::string Encode(const Plan& plan) { return EncodeAny(plan); }

absl::StatusOr<Event> DecodeEvent(std::string_view bytes) {
  return DecodeAny<Event>("event", bytes);
}

absl::StatusOr<Plan> DecodePlan(std::string_view bytes) { return DecodeAny<Plan>("plan", bytes); }

void Write(ByteWriter& out, const Plan& plan) {
  Write(out, plan.now());
  Write(out, plan.version());
  Write(out, plan.searches());
  Write(out, plan.steps());
}

bool Read(ByteReader& in, Plan& plan) {
  Time now = 0;
  std::uint64_t version = 0;
  std::uint64_t searches = 0;
  std::vector<Step> steps;
  if (!Read(in, now) || !Read(in, version) || !Read(in, searches) || !Read(in, steps)) return false;
  plan = Plan(now, version, searches, std::move(steps));
  return true;
}

}  // namespace gpusched
