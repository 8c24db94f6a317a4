// Deciding and committing allocate nothing once they have run for a while.
//
// Not in a build with AddressSanitizer, which counts and pairs allocations itself and minds that
// somebody else does.
#ifndef __SANITIZE_ADDRESS__

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <new>
#include <string>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/engine/scheduler.h"
#include "gpusched/policy/score/best_fit.h"
#include "gpusched/policy/score/fgd.h"
#include "gpusched/policy/score/weighted.h"
#include "random_cluster.h"

namespace {

std::size_t allocations = 0;

}  // namespace

// Those of the whole program, counted. Not inlined, or the compiler takes new and free for a pair
// that does not match.
__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace gpusched {
namespace {

class Steady {
 public:
  Steady() : shapes_(Shapes()) {
    for (int i = 0; i < 60; ++i) cluster_.AddNode(GpuNode("n" + std::to_string(i), 4));
    for (const ShapeSpec& shape : shapes_) ids_.push_back(cluster_.Intern(shape));
  }

  // How many allocations some rounds of placing and releasing make, after as many that don't count.
  // Most tasks find a place, some do not.
  template <class P>
  std::size_t Count(P policy, SearchPath path, bool named) {
    BasicScheduler scheduler(cluster_.state, std::move(policy), Filters<>(), {.path = path});
    scheduler.Prepare(ids_);
    std::vector<std::string> names;
    for (int i = 0; i < 400; ++i) names.push_back("task-" + std::to_string(i));
    std::vector<TaskId> ring(300);
    std::size_t counted = 0;
    // Long enough for every node to have had as many tasks at a time as it will have.
    constexpr int kWarm = 20'000;
    for (int round = 0; round < kWarm + 3'000; ++round) {
      if (round == kWarm) allocations = 0;
      const auto at = static_cast<std::size_t>(round) % ring.size();
      if (ring[at].has_value()) {
        EXPECT_TRUE(scheduler.Release(ring[at]).ok());
      }
      ring[at] = {};
      const ShapeId shape = ids_[static_cast<std::size_t>(round * 7) % ids_.size()];
      if (named) {
        const std::string& name = names[static_cast<std::size_t>(round) % names.size()];
        const auto decision = scheduler.Decide(shape, RefusalDetail::kOutcome);
        if (!decision->placed()) continue;
        if (const auto task = scheduler.Commit(name, *decision); task.ok()) ring[at] = *task;
      } else if (const auto placed = scheduler.PlaceUnnamed(shape);
                 placed->kind == DecisionKind::kPlace) {
        ring[at] = placed->task;
      }
      ++placed_;
    }
    counted = allocations;
    for (const TaskId task : ring) {
      if (task.has_value()) {
        EXPECT_TRUE(scheduler.Release(task).ok());
      }
    }
    return counted;
  }

  Fgd MakeFgd() { return *Fgd::Build(TargetWorkload::FromRequests(shapes_), cluster_.state); }
  std::size_t placed() const { return placed_; }

 private:
  static std::vector<ShapeSpec> Shapes() {
    return {WholeGpus(1, 1'000), WholeGpus(2, 3'000), WholeGpus(4),   ShareOf(500, 2'000),
            ShareOf(300),        ShareOf(800, 500),   CpuTask(4'000), WholeGpus(5)};
  }

  TestCluster cluster_;
  std::vector<ShapeSpec> shapes_;
  std::vector<ShapeId> ids_;
  std::size_t placed_ = 0;
};

TEST(Allocation, ASteadyDecisionAndCommitAllocateNothing) {
  Steady steady;
  for (const SearchPath path : {SearchPath::kIndex, SearchPath::kScan}) {
    for (const bool named : {false, true}) {
      EXPECT_EQ(steady.Count(steady.MakeFgd(), path, named), 0U);
      EXPECT_EQ(steady.Count(BestFit(), path, named), 0U);
      EXPECT_EQ(steady.Count(0.8 * steady.MakeFgd() + 0.2 * BestFit(), path, named), 0U);
    }
  }
  EXPECT_GT(steady.placed(), 100'000U);
  allocations = 0;
  const std::vector<int> one(1'000);
  EXPECT_EQ(allocations, 1U) << "they are counted";
}

}  // namespace
}  // namespace gpusched

#endif  // __SANITIZE_ADDRESS__
