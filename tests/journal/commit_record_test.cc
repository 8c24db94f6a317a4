#include "gpusched/journal/commit_record.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "gpusched/base/digest.h"
#include "gpusched/base/rng.h"
#include "gpusched/journal/codec.h"
#include "journal/random_values.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

Wait WaitOf(std::string job) {
  Wait wait;
  wait.job = std::move(job);
  wait.why.reason = Reason::kNoNodes;
  return wait;
}

Reject RejectOf(std::string job) { return {.job = std::move(job), .why = {}}; }

Place PlaceOn(std::string node) {
  Place place;
  place.task.job = "j";
  place.node = std::move(node);
  return place;
}

TEST(CommitRecord, KeepsWhatThePlanDoesAndNotWhatItSays) {
  const Evict evict{.task = {}, .node = "b", .cause = EvictCause::kScaledDown};
  const Plan plan(7, 8, 9, {evict, PlaceOn("a"), WaitOf("w"), PlaceOn("b"), RejectOf("r")});
  const Plan kept(7, 8, 9, {evict, PlaceOn("a"), PlaceOn("b")});
  EXPECT_EQ(WithoutWaits(plan), kept);
  const auto record = DecodeCommit(EncodeCommit(plan));
  ASSERT_TRUE(IsOk(record.status()));
  EXPECT_EQ(record->plan, kept);
  EXPECT_EQ(record->digest, PlanDigest(plan));
}

TEST(CommitRecord, TheDigestIsThatOfTheWholePlan) {
  const Plan plan(7, 8, 9, {PlaceOn("a"), WaitOf("w")});
  EXPECT_EQ(PlanDigest(plan), Digest().AddBytes(Encode(plan)).value());
  EXPECT_NE(PlanDigest(plan), PlanDigest(WithoutWaits(plan)));
  EXPECT_NE(PlanDigest(plan), PlanDigest(Plan(7, 8, 9, {PlaceOn("a"), WaitOf("x")})));
  EXPECT_NE(PlanDigest(plan), PlanDigest(Plan(8, 8, 9, {PlaceOn("a"), WaitOf("w")})));
}

TEST(CommitRecord, RandomPlansRoundTrip) {
  Rng rng(1);
  for (int i = 0; i < 1'000; ++i) {
    const Plan plan = RandomValue<Plan>(rng);
    const auto record = DecodeCommit(EncodeCommit(plan));
    ASSERT_TRUE(IsOk(record.status()));
    EXPECT_EQ(record->plan, WithoutWaits(plan));
    EXPECT_EQ(record->digest, PlanDigest(plan));
  }
}

TEST(CommitRecord, RefusesBytesThatAreCutOrTooMany) {
  const std::string bytes = EncodeCommit(Plan(7, 8, 9, {PlaceOn("a")}));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(Refused(DecodeCommit(bytes.substr(0, size)), kDataLoss)) << size;
  }
  EXPECT_TRUE(Refused(DecodeCommit(bytes + "x"), kDataLoss));
}

}  // namespace
}  // namespace gpusched
