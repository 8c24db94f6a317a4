#include "gpusched/policy/score/target_workload.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cluster_fixture.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

void AddCopies(std::vector<ShapeSpec>& requests, int copies, const ShapeSpec& shape) {
  requests.insert(requests.end(), static_cast<std::size_t>(copies), shape);
}

std::vector<std::int64_t> Counts(const TargetWorkload& target) {
  std::vector<std::int64_t> counts;
  for (const TargetShape& shape : target.shapes()) counts.push_back(shape.count);
  return counts;
}

TEST(TargetWorkload, KeepsTheMostFrequentUntil95Percent) {
  std::vector<ShapeSpec> requests;
  AddCopies(requests, 4, CpuTask(4'000));
  AddCopies(requests, 60, WholeGpus(1, 1'000));
  AddCopies(requests, 1, WholeGpus(8));
  AddCopies(requests, 35, ShareOf(500, 1'000));
  // 60 + 35 of 100 are 95 %: enough.
  const TargetWorkload target = TargetWorkload::FromRequests(requests);
  ASSERT_EQ(Counts(target), (std::vector<std::int64_t>{60, 35}));
  EXPECT_EQ(target.total(), 95);
  EXPECT_EQ(
      target.shapes()[0],
      (TargetShape{
          .cpu_milli = 1'000, .gpu_milli = 1'000, .gpu_count = 1, .models = {}, .count = 60}));
  EXPECT_EQ(target.shapes()[1].gpu_milli, 500);
  // One share less: 94 % are not enough, and the next shape is taken whole.
  requests.pop_back();
  AddCopies(requests, 1, CpuTask(4'000));
  EXPECT_EQ(Counts(TargetWorkload::FromRequests(requests)), (std::vector<std::int64_t>{60, 34, 5}));
}

TEST(TargetWorkload, PopularityBoundsTheHead) {
  std::vector<ShapeSpec> requests;
  AddCopies(requests, 50, ShareOf(100));
  AddCopies(requests, 30, ShareOf(200));
  AddCopies(requests, 19, ShareOf(300));
  AddCopies(requests, 1, ShareOf(400));
  const auto head = [&](int pct) {
    return Counts(TargetWorkload::FromRequests(requests, pct)).size();
  };
  EXPECT_EQ(head(1), 1U);
  EXPECT_EQ(head(50), 1U);
  EXPECT_EQ(head(51), 2U);
  EXPECT_EQ(head(80), 2U);
  EXPECT_EQ(head(99), 3U);
  EXPECT_EQ(head(100), 4U);
}

TEST(TargetWorkload, TiesPutTheLargerRequestFirst) {
  ShapeSpec models_a = ShareOf(500, 2'000);
  models_a.models = {"A10"};
  ShapeSpec models_t = ShareOf(500, 2'000);
  models_t.models = {"T4", "A10"};  // sorted: A10, T4
  const std::vector<ShapeSpec> requests = {
      CpuTask(1'000),      ShareOf(500, 2'000), models_a,      models_t, ShareOf(600, 2'000),
      WholeGpus(2, 2'000), WholeGpus(4, 2'000), CpuTask(3'000)};
  const TargetWorkload target = TargetWorkload::FromRequests(requests, 100);
  const std::vector<TargetShape> expected = {{3'000, 0, 0, {}, 1},
                                             {2'000, 1'000, 4, {}, 1},
                                             {2'000, 1'000, 2, {}, 1},
                                             {2'000, 600, 1, {}, 1},
                                             {2'000, 500, 1, {"A10", "T4"}, 1},
                                             {2'000, 500, 1, {"A10"}, 1},
                                             {2'000, 500, 1, {}, 1},
                                             {1'000, 0, 0, {}, 1}};
  EXPECT_EQ(std::vector<TargetShape>(target.shapes().begin(), target.shapes().end()), expected);
}

TEST(TargetWorkload, DeviceMemoryAndProfilesTellRequestsApart) {
  ShapeSpec memory = ShareOf(500);
  memory.gpu_mem_mib = 2;
  const ShapeSpec profile{.gpu_count = 1, .models = {}, .mig_profile = "1g.5gb"};
  const TargetWorkload target = TargetWorkload::FromRequests(
      std::vector<ShapeSpec>{ShareOf(500), memory, profile, profile}, 100);
  ASSERT_EQ(target.shapes().size(), 3U);
  EXPECT_EQ(target.shapes()[0].mig_profile, "1g.5gb");
  EXPECT_EQ(target.shapes()[0].count, 2);
  EXPECT_EQ(target.shapes()[1].gpu_mem_mib, 2);
  EXPECT_EQ(target.shapes()[2].gpu_mem_mib, 0);
}

TEST(TargetWorkload, HostMemoryIsLeftOutAndModelsAreASet) {
  ShapeSpec one = ShareOf(500);
  one.mem_mib = 1;
  one.models = {"T4", "A10", "T4"};
  ShapeSpec two = ShareOf(500);
  two.models = {"A10", "T4"};
  EXPECT_EQ(Counts(TargetWorkload::FromRequests(std::vector<ShapeSpec>{one, two})),
            std::vector<std::int64_t>{2});
}

TEST(TargetWorkload, NothingGivesAnEmptyTarget) {
  EXPECT_TRUE(TargetWorkload::FromRequests({}).shapes().empty());
  EXPECT_EQ(TargetWorkload::FromRequests({}).total(), 0);
  EXPECT_EQ(TargetWorkload().total(), 0);
}

TEST(TargetWorkload, DoesNotDependOnTheOrderOfRequests) {
  const std::vector<ShapeSpec> one = {ShareOf(100), ShareOf(200), ShareOf(100), CpuTask(1)};
  const std::vector<ShapeSpec> two = {CpuTask(1), ShareOf(100), ShareOf(100), ShareOf(200)};
  const TargetWorkload a = TargetWorkload::FromRequests(one);
  const TargetWorkload b = TargetWorkload::FromRequests(two);
  EXPECT_TRUE(
      std::equal(a.shapes().begin(), a.shapes().end(), b.shapes().begin(), b.shapes().end()));
}

TEST(TargetWorkloadFromShapes, TakesWhatIsGiven) {
  const auto target = TargetWorkload::FromShapes(
      {{.gpu_milli = 500, .gpu_count = 1, .models = {"T4", "A10", "T4"}, .count = 3},
       {.cpu_milli = 1, .models = {}, .count = 1}});
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target->total(), 4);
  EXPECT_EQ(target->shapes()[0].models, (std::vector<std::string>{"A10", "T4"}));
}

TEST(TargetWorkloadFromShapes, RefusesCountsThatAreNoWeight) {
  const auto with = [](std::int64_t first, std::int64_t second) {
    return TargetWorkload::FromShapes({{.cpu_milli = 1, .models = {}, .count = first},
                                       {.cpu_milli = 2, .models = {}, .count = second}});
  };
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_TRUE(with(1, TargetWorkload::kMaxWeight - 1).ok());
  EXPECT_TRUE(Refused(with(1, 0), kInvalid, {"shapes[1].count is 0", "at least 1"}));
  EXPECT_TRUE(Refused(with(-5, 1), kInvalid, {"shapes[0].count is -5"}));
  EXPECT_TRUE(Refused(with(1, TargetWorkload::kMaxWeight), kInvalid,
                      {"shapes[1].count is 8388608", "at most 8388608 over all"}));
  EXPECT_TRUE(Refused(with(1, std::numeric_limits<std::int64_t>::max()), kInvalid));
}

}  // namespace
}  // namespace gpusched
