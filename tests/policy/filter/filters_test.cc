#include "gpusched/policy/filter/filters.h"

#include <gtest/gtest.h>

#include <vector>

#include "cluster_fixture.h"

namespace gpusched {
namespace {

struct Says {
  Verdict verdict;
  std::int64_t need = 0;
  int* asked = nullptr;
  Shortfall operator()(const NodeView&, const Shape&) const {
    if (asked != nullptr) ++*asked;
    return {.verdict = verdict, .need = need};
  }
};

class FiltersTest : public testing::Test {
 protected:
  TestCluster cluster;
  NodeId id = cluster.AddNode(GpuNode("n", 1));
  NodeView node = cluster.node(id);
  Shape shape = cluster.ShapeOf(CpuTask(1));
};

TEST_F(FiltersTest, NoFiltersSayYes) { EXPECT_TRUE(Filters<>()(node, shape).verdict.ok()); }

TEST_F(FiltersTest, TheFirstRefusalIsTheAnswerAndTheRestIsNotAsked) {
  int asked = 0;
  const Filters filters(
      Says{.verdict = Verdict::Ok(), .asked = &asked},
      Says{.verdict = Verdict::Wait(Reason::kFilteredByUser), .need = 1, .asked = &asked},
      Says{.verdict = Verdict::Never(Reason::kInsufficientCpu), .need = 2, .asked = &asked});
  const Shortfall answer = filters(node, shape);
  EXPECT_EQ(answer.verdict, Verdict::Wait(Reason::kFilteredByUser));
  EXPECT_EQ(answer.need, 1);
  EXPECT_EQ(asked, 2);
}

TEST_F(FiltersTest, AllYesIsYes) {
  const Filters filters(Says{}, Says{}, Says{});
  EXPECT_TRUE(filters(node, shape).verdict.ok());
}

TEST_F(FiltersTest, ForEachAsksAllInOrder) {
  const Filters filters(Says{.verdict = Verdict::Wait(Reason::kFilteredByUser), .need = 1},
                        Says{.verdict = Verdict::Ok(), .need = 2},
                        Says{.verdict = Verdict::Never(Reason::kInsufficientCpu), .need = 3});
  std::vector<std::int64_t> needs;
  filters.ForEach(node, shape, [&](const Shortfall& answer) { needs.push_back(answer.need); });
  EXPECT_EQ(needs, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_F(FiltersTest, FiltersNest) {
  const Filters inner(Says{.verdict = Verdict::Never(Reason::kFilteredByUser)});
  EXPECT_EQ(Filters(Says{}, inner)(node, shape).verdict, Verdict::Never(Reason::kFilteredByUser));
}

}  // namespace
}  // namespace gpusched
