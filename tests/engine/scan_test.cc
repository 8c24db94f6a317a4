#include "gpusched/engine/scan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/policy/filter/filters.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

TEST(ChooseDevices, WholeDevicesByLowestIndexAShareByTheOrder) {
  TestCluster cluster;
  const NodeId id = cluster.AddNode(GpuNode("n", 4));
  cluster.Place("t0", ShareOf(300), id, DeviceMask::Of(0));  // left: 700 1000 400 400
  cluster.Place("t2", ShareOf(600), id, DeviceMask::Of(2));
  cluster.Place("t3", ShareOf(600), id, DeviceMask::Of(3));
  const NodeView node = cluster.node(id);
  const auto choose = [&](const ShapeSpec& ask, DeviceOrder order) {
    return ChooseDevices(node, cluster.ShapeOf(ask), order).devices;
  };
  EXPECT_EQ(choose(ShareOf(300), DeviceOrder::kFullestFirst), DeviceMask::Of(2));
  EXPECT_EQ(choose(ShareOf(300), DeviceOrder::kLowestIndex), DeviceMask::Of(0));
  EXPECT_EQ(choose(ShareOf(401), DeviceOrder::kFullestFirst), DeviceMask::Of(0));
  EXPECT_EQ(choose(ShareOf(701), DeviceOrder::kLowestIndex), DeviceMask::Of(1));
  EXPECT_EQ(choose(WholeGpus(1), DeviceOrder::kFullestFirst), DeviceMask::Of(1));
  EXPECT_EQ(choose(CpuTask(1), DeviceOrder::kFullestFirst), DeviceMask());
  cluster.Release(*cluster.state.FindTask("t3"));
  EXPECT_EQ(choose(WholeGpus(2), DeviceOrder::kFullestFirst), Devices({1, 3}));
}

// A score with few values, so that most decisions are ties. As a NodeScore and as a BatchScore.
struct Noise {
  std::uint64_t seed = 0;
  Reads what = Reads::kNode;
  DeviceOrder order = DeviceOrder::kFullestFirst;

  Reads reads() const { return what; }
  DeviceOrder device_order() const { return order; }
  static constexpr ScoreRange range() { return {-1, 1}; }
  Score operator()(const NodeView& node, const Shape&, DeviceMask devices) const {
    const std::uint64_t device = Includes(what, Reads::kDevice) ? devices.bits() : 0;
    return static_cast<Score>(Mix64(seed ^ Mix64(node.slot() * 1'000 + device)) % 3) - 1;
  }
};
struct BatchNoise {
  Noise noise;

  Reads reads() const { return noise.reads(); }
  DeviceOrder device_order() const { return noise.order; }
  static constexpr ScoreRange range() { return Noise::range(); }
  void ScoreBatch(const Batch& batch, std::span<Score> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = noise(batch.view.node(batch.candidates[i].slot), batch.shape,
                     batch.candidates[i].devices);
    }
  }
};
static_assert(NodeScore<Noise> && BatchScore<BatchNoise> && !NodeScore<BatchNoise>);

// Refuses every third slot.
struct NotEveryThird {
  Shortfall operator()(const NodeView& node, const Shape&) const {
    if (node.slot() % 3 != 0) return {};
    return {.verdict = Verdict::Wait(Reason::kFilteredByUser)};
  }
};

// The rule in words: highest score; then first in node order; then the fullest device (or not),
// then the lowest index. Whole devices are the lowest indices that fit.
std::optional<Placement> ReferenceChoice(const ClusterState& state, const Shape& shape,
                                         const Noise& score, bool filtered) {
  struct Option {
    Score score;
    Placement placement;
    std::int32_t left;
  };
  std::vector<Option> options;
  for (const std::uint32_t slot : state.nodes().order()) {
    const NodeView node = state.node(slot);
    if (!Fits(node, shape) || (filtered && slot % 3 == 0)) continue;
    std::vector<int> fitting;
    for (int i = 0; i < static_cast<int>(node.devices().size()); ++i) {
      if (DeviceFits(node.devices()[static_cast<std::size_t>(i)], shape)) fitting.push_back(i);
    }
    if (shape.shares()) {
      for (const int i : fitting) {
        const DeviceMask device = DeviceMask::Of(i);
        options.push_back({score(node, shape, device),
                           {node.id(), device},
                           node.devices()[static_cast<std::size_t>(i)].gpu_milli});
      }
      continue;
    }
    DeviceMask devices;
    for (int i = 0; i < shape.gpu_count; ++i) devices.Insert(fitting[static_cast<std::size_t>(i)]);
    options.push_back({score(node, shape, devices), {node.id(), devices}, 0});
  }
  std::optional<Option> best;
  for (const Option& option : options) {
    const bool better =
        !best || option.score > best->score ||
        (option.score == best->score && option.placement.node == best->placement.node &&
         score.order == DeviceOrder::kFullestFirst && option.left < best->left);
    if (better) best = option;
  }
  if (!best) return std::nullopt;
  return best->placement;
}

TEST(PlainScan, AgreesWithANaiveSearchForTheBest) {
  int found = 0;
  int not_found = 0;
  PlainScan scan;  // one for all: its buffers must not matter
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    TestCluster cluster;
    FillRandomly(cluster, rng, 10);
    for (int i = 0; i < 12; ++i) {
      const Noise score{
          .seed = rng.Next(),
          .what = OneIn(rng, 2) ? Reads::kNode : Reads::kNode | Reads::kDevice,
          .order = OneIn(rng, 2) ? DeviceOrder::kFullestFirst : DeviceOrder::kLowestIndex};
      const Shape shape = cluster.ShapeOf(RandomShape(rng));
      const bool filtered = OneIn(rng, 3);
      const auto expected = ReferenceChoice(cluster.state, shape, score, filtered);
      const auto check = [&](const SearchResult& result) {
        ASSERT_EQ(result.found, expected.has_value()) << "seed " << seed;
        if (!expected) return;
        ASSERT_EQ(result.candidate.slot, expected->node.slot) << "seed " << seed;
        ASSERT_EQ(result.candidate.devices, expected->devices) << "seed " << seed;
        ASSERT_EQ(result.score, score(cluster.node(expected->node), shape, expected->devices));
      };
      ++(expected ? found : not_found);
      const BatchNoise batch{score};
      if (filtered) {
        check(scan.Find(cluster.state, shape, 0, Filters(NotEveryThird()), score));
        check(scan.Find(cluster.state, shape, 0, Filters(NotEveryThird()), batch));
      } else {
        check(scan.Find(cluster.state, shape, 0, Filters<>(), score));
        check(scan.Find(cluster.state, shape, 0, Filters<>(), batch));
      }
    }
  }
  EXPECT_GT(found, 1'500);
  EXPECT_GT(not_found, 500);
}

// A batch score that writes down what it was offered.
struct Recorder {
  std::vector<Candidate>* seen = nullptr;
  std::uint64_t* sequence = nullptr;
  Reads what = Reads::kCluster;

  Reads reads() const { return what; }
  static constexpr ScoreRange range() { return {0, 0}; }
  void ScoreBatch(const Batch& batch, std::span<Score> out) const {
    seen->assign(batch.candidates.begin(), batch.candidates.end());
    *sequence = batch.sequence;
    std::fill(out.begin(), out.end(), 0);
  }
};

TEST(PlainScan, OffersOneCandidateANodeOrOneADevice) {
  TestCluster cluster;
  cluster.AddNode(GpuNode("a", 2));
  cluster.AddNode(GpuNode("b", 0));
  cluster.AddNode(GpuNode("c", 3));
  std::vector<Candidate> seen;
  std::uint64_t sequence = 0;
  PlainScan scan;
  const auto offered = [&](const ShapeSpec& ask, Reads what) {
    seen.clear();
    scan.Find(cluster.state, cluster.ShapeOf(ask), 17, Filters<>(),
              Recorder{.seen = &seen, .sequence = &sequence, .what = what});
    return seen.size();
  };
  EXPECT_EQ(offered(ShareOf(500), Reads::kCluster), 2U);
  EXPECT_EQ(sequence, 17U);
  EXPECT_EQ(offered(ShareOf(500), Reads::kCluster | Reads::kDevice), 5U);
  EXPECT_EQ(seen[0].slot, seen[1].slot) << "a node's candidates stand together";
  EXPECT_EQ(seen[4].devices, DeviceMask::Of(2));
  EXPECT_EQ(offered(WholeGpus(1), Reads::kCluster | Reads::kDevice), 2U) << "wholes are no choice";
  EXPECT_EQ(offered(CpuTask(1), Reads::kCluster | Reads::kDevice), 3U);
  EXPECT_EQ(offered(WholeGpus(4), Reads::kCluster), 0U);
}

}  // namespace
}  // namespace gpusched
