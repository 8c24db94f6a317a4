#include "gpusched/policy/concepts.h"

#include <gtest/gtest.h>

#include <string_view>

#include "gpusched/policy/erased/any_score.h"
#include "gpusched/policy/filter/fit_filters.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/dot_product.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/first_fit.h"
#include "gpusched/policy/score/gpu_clustering.h"
#include "gpusched/policy/score/gpu_packing.h"
#include "gpusched/policy/score/random.h"
#include "gpusched/policy/score/weighted.h"
#include "gpusched/policy/score/worst_fit.h"

namespace gpusched {
namespace {

TEST(Concepts, BuiltInsModelWhatTheySay) {
  static_assert(NodeScore<BestFit> && NodeScore<WorstFit> && NodeScore<FirstFit>);
  static_assert(NodeScore<DotProduct> && NodeScore<GpuPacking> && NodeScore<GpuClustering>);
  static_assert(NodeScore<Fgd> && NodeScore<Weighted<BestFit, Fgd>>);
  static_assert(BatchScore<Random> && BatchScore<AnyScore> && BatchScore<WeightedSum>);
  static_assert(BatchScore<Weighted<BestFit, Random>>);
  static_assert(!NodeScore<Random> && !NodeScore<AnyScore> &&
                !NodeScore<Weighted<BestFit, Random>>);
  static_assert(!BatchScore<BestFit> && !BatchScore<Weighted<BestFit, Fgd>>);
  static_assert(NodeFilter<ModelAllowed> && NodeFilter<EnoughCpu> && NodeFilter<FitFilters>);
  static_assert(!NodeFilter<BestFit> && !PlacementScore<EnoughCpu> && !PlacementScore<int>);
}

struct NoRange {
  static constexpr Reads kReads = Reads::kNode;
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
};
struct NoReads {
  static constexpr ScoreRange range() { return {0, 1}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
};
struct DoubleScore {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 1}; }
  double operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
};
struct MutableScore {
  static constexpr Reads kReads = Reads::kNode;
  static constexpr ScoreRange range() { return {0, 1}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) { return 0; }
};

TEST(Concepts, WhatDeclaresTooLittleIsNoScore) {
  static_assert(NoRange::kReads == Reads::kNode && !PlacementScore<NoRange>);
  static_assert(!PlacementScore<NoReads>);
  static_assert(!PlacementScore<DoubleScore>, "a score is an integer");
  static_assert(!PlacementScore<MutableScore>, "a policy is const while deciding");
}

struct SaysAtRunTime {
  Reads reads() const { return Reads::kCluster; }
  DeviceOrder device_order() const { return DeviceOrder::kLowestIndex; }
  std::string_view problem() const { return "broken"; }
  ScoreRange range() const { return {0, 1}; }
  Score operator()(const NodeView&, const Shape&, DeviceMask) const { return 0; }
};

TEST(Concepts, PropertiesComeFromConstantsFunctionsOrDefaults) {
  static_assert(PlacementScore<SaysAtRunTime>);
  EXPECT_EQ(ReadsOf(SaysAtRunTime()), Reads::kCluster);
  EXPECT_EQ(DeviceOrderOf(SaysAtRunTime()), DeviceOrder::kLowestIndex);
  EXPECT_EQ(ProblemOf(SaysAtRunTime()), "broken");
  EXPECT_EQ(ReadsOf(BestFit()), Reads::kNode);
  EXPECT_EQ(DeviceOrderOf(BestFit()), DeviceOrder::kFullestFirst) << "the default";
  EXPECT_EQ(ProblemOf(FirstFit()), "");
}

TEST(Reads, AreASet) {
  const Reads both = Reads::kNode | Reads::kSequence;
  EXPECT_TRUE(Includes(both, Reads::kNode));
  EXPECT_TRUE(Includes(both, Reads::kSequence));
  EXPECT_FALSE(Includes(both, Reads::kDevice));
  EXPECT_FALSE(Includes(Reads::kNothing, Reads::kNode));
}

}  // namespace
}  // namespace gpusched
