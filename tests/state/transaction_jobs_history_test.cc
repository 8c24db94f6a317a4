// Random histories of steps of every kind, with rollbacks to random marks.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster_fixture.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/transaction.h"
#include "job_specs.h"
#include "state/state_details.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

class RandomSteps {
 public:
  explicit RandomSteps(std::uint64_t seed) : rng_(seed) {}

  void RunTransaction() {
    struct Before {
      Transaction::Mark mark;
      std::uint64_t hash;
      std::string details;
    };
    std::vector<Before> marks;
    Transaction transaction(cluster_.state);
    const auto note = [&] {
      marks.push_back({transaction.mark(), cluster_.hash(), Details(cluster_.state)});
    };
    note();
    for (std::uint64_t steps = rng_.Below(14); steps > 0; --steps) {
      if (rng_.Below(4) == 0) note();
      if (rng_.Below(8) == 0) {
        marks.resize(1 + rng_.Below(marks.size()));
        transaction.RollbackTo(marks.back().mark);
        ASSERT_EQ(cluster_.hash(), marks.back().hash);
        ASSERT_EQ(Details(cluster_.state), marks.back().details);
      } else {
        const std::uint64_t hash = cluster_.hash();
        const absl::Status status = Step(transaction);
        ++(status.ok() ? accepted_ : refused_);
        ASSERT_TRUE(status.ok() || cluster_.hash() == hash) << status;
      }
      ASSERT_TRUE(IsOk(Audit(cluster_.state)));
    }
    if (rng_.Below(2) == 0) {
      transaction.Commit();
      return;
    }
    transaction.RollbackTo(0);
    ASSERT_EQ(cluster_.hash(), marks.front().hash);
    ASSERT_EQ(Details(cluster_.state), marks.front().details);
  }

  std::int64_t accepted() const { return accepted_; }
  std::int64_t refused() const { return refused_; }

 private:
  std::string Name(const char* prefix, std::uint64_t below) {
    return prefix + std::to_string(rng_.Below(below));
  }
  NodeId AnyNode() { return cluster_.state.FindNode(Name("n", 4)).value_or(NodeId()); }
  JobId AnyJob() { return cluster_.state.FindJob(Name("j", 4)).value_or(JobId()); }

  NodeSpec SomeNode(std::string name) {
    NodeSpec spec = GpuNode(std::move(name), static_cast<int>(rng_.Below(5)), "T4",
                            static_cast<std::int64_t>(rng_.Below(3)) * 4'000);
    for (DeviceSpec& device : spec.devices) {
      if (rng_.Below(6) == 0) device.model = "A30";
      if (rng_.Below(3) == 0) device.gpu_mem_mib = 10;
      if (rng_.Below(6) == 0) device.gpu_milli = 500;
    }
    return spec;
  }

  ShapeSpec SomeShape() {
    ShapeSpec shape = rng_.Below(3) == 0 ? WholeGpus(2, 500) : ShareOf(400, 500);
    if (rng_.Below(3) == 0) shape.gpu_mem_mib = 4;
    return shape;
  }

  DeviceMask SomeDevices(ShapeId shape) {
    DeviceMask devices;
    while (devices.size() < cluster_.state.shapes()[shape].gpu_count) {
      devices.Insert(static_cast<int>(rng_.Below(5)));
    }
    return devices;
  }

  JobSpec SomeJob() {
    JobSpec job = Gang(Name("j", 4), static_cast<std::int64_t>(rng_.Below(4)), SomeShape());
    job.groups[0].min_available = 0;
    job.alternatives = {{Group("x", 1, CpuTask(1)), Group("y", 2, CpuTask(1))}};
    if (rng_.Below(3) == 0) job.anti_affinity = {{.key = "k", .value = "v"}};
    return job;
  }

  absl::Status Step(Transaction& t) {
    const JobId job = AnyJob();
    const bool live = cluster_.state.jobs().Has(job);
    switch (rng_.Below(16)) {
      case 0:
        return t.AddNode(SomeNode(Name("n", 4))).status();
      case 1:
        return t.RemoveNode(AnyNode());
      case 2:
      case 3:
      case 4: {
        const NodeId node = AnyNode();
        if (!cluster_.state.nodes().Has(node)) return absl::NotFoundError("");
        return t.UpdateNode(node, SomeNode(std::string(cluster_.state.node_name(node))));
      }
      case 5: {
        ForeignUsage usage{.cpu_milli = 100, .device_milli = {}};
        usage.device_milli.assign(rng_.Below(4), 300);
        return t.SetForeign(AnyNode(), usage);
      }
      case 6:
        return t.SetCordoned(AnyNode(), rng_.Below(2) == 0);
      case 7: {
        const ShapeId shape = cluster_.Intern(SomeShape());
        return t.Place(Name("t", 9), shape, {AnyNode(), SomeDevices(shape)}).status();
      }
      case 8: {
        // As an engine does, it names devices that the node lists.
        const ShapeId shape = cluster_.Intern(SomeShape());
        const NodeId node = AnyNode();
        const DeviceMask devices = SomeDevices(shape);
        if (!cluster_.state.nodes().Has(node)) return absl::NotFoundError("");
        for (DeviceMask rest = devices; !rest.empty(); rest.DropFirst()) {
          if (static_cast<std::uint32_t>(rest.First()) >=
              cluster_.state.nodes().declared_devices(node.slot)) {
            return absl::NotFoundError("");
          }
        }
        return t.Adopt(Name("t", 9), shape, {node, devices}).status();
      }
      case 9:
        return t.Release(cluster_.state.FindTask(Name("t", 9)).value_or(TaskId()));
      case 10: {
        const ShapeId shape = cluster_.Intern(SomeShape());
        return t.AddHold({.name = Name("h", 3),
                          .owner = "o",
                          .shape = shape,
                          .placement = {AnyNode(), SomeDevices(shape)}});
      }
      case 11:
        return t.DropHold(rng_.Below(3));
      case 12:
        return rng_.Below(2) == 0 ? t.AddJob(SomeJob(), 1).status() : t.RemoveJob(job);
      case 13:
        return rng_.Below(2) == 0
                   ? t.SetNow(cluster_.state.now() + 1)
                   : t.SetAlternative(job, static_cast<std::uint32_t>(rng_.Below(2)));
      case 14: {
        if (!live) return absl::NotFoundError("");
        JobSpec spec = cluster_.state.jobs()[job.slot].spec;
        spec.groups[0].count = static_cast<std::int64_t>(rng_.Below(4));
        spec.priority = static_cast<std::int64_t>(rng_.Below(3));
        return t.SetSpec(job, spec);
      }
      default: {
        if (!live) return absl::NotFoundError("");
        const auto& tasks = cluster_.state.jobs()[job.slot].groups[0].tasks;
        if (tasks.empty() || rng_.Below(3) == 0) {
          return t.SetHeader(job, {.repair_deadline = static_cast<Time>(rng_.Below(5)),
                                   .ending = EvictCause::kCancelled,
                                   .releasing = rng_.Below(2) == 0});
        }
        TaskState task;
        task.phase = static_cast<TaskPhase>(rng_.Below(kTaskPhases));
        task.attempt = 1 + static_cast<std::int64_t>(rng_.Below(4));
        return t.SetTask(job, 0, static_cast<std::uint32_t>(rng_.Below(tasks.size())), task);
      }
    }
  }

  Rng rng_;
  TestCluster cluster_;
  std::int64_t accepted_ = 0;
  std::int64_t refused_ = 0;
};

TEST(TransactionHistory, StepsOfEveryKindAreUndoneInRandomOrders) {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomSteps steps(seed);
    for (int i = 0; i < 100; ++i) {
      steps.RunTransaction();
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", transaction " << i;
    }
    accepted += steps.accepted();
    refused += steps.refused();
  }
  EXPECT_GT(accepted, 10'000);
  EXPECT_GT(refused, 5'000);
}

}  // namespace
}  // namespace gpusched
