// Long random histories of devices in every mode, beside the validator's own idea of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../src/decision/plan_validator_devices.h"
#include "cluster_fixture.h"
#include "device_kinds.h"
#include "gpusched/base/rng.h"
#include "gpusched/state/audit.h"
#include "gpusched/state/device_choice.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

using validator::DeviceFacts;
using validator::Occupant;

class DevicesHistory {
 public:
  explicit DevicesHistory(std::uint64_t seed) : rng_(seed) {
    // Random nodes with the same devices in other orders.
    for (int n = 0; n < 3; ++n) {
      NodeSpec node{.name = "n" + std::to_string(n),
                    .cpu_milli = 400,
                    .mem_mib = 1'000,
                    .devices = DevicesOfEveryKind()};
      for (std::size_t i = node.devices.size(); i > 1; --i) {
        std::swap(node.devices[i - 1], node.devices[rng_.Below(i)]);
      }
      specs_.push_back(node);
      nodes_.push_back(cluster_.AddNode(node));
    }
    for (const ShapeSpec& ask : Asks()) asks_.push_back(ask);
    empty_hash_ = cluster_.hash();
  }

  void Step() {
    const std::uint64_t hash = check_hash_ ? cluster_.hash() : 0;
    bool refused = false;
    switch (rng_.Below(10)) {
      case 0:
      case 1:
      case 2:
        refused = !PlaceChosen();
        break;
      case 3:
      case 4:
        refused = !PlaceAnywhere();
        break;
      case 5:
        refused = !HoldSome();
        break;
      case 6:
        refused = !Resize();
        break;
      case 7:
        refused = !SetForeign();
        break;
      default:
        Release();
    }
    if (refused && check_hash_) {
      ASSERT_EQ(cluster_.hash(), hash);
    }
    CheckSums();
    ++steps_;
    check_hash_ = steps_ % 7 == 0;
    if (steps_ % 97 == 0) {
      ASSERT_TRUE(IsOk(Audit(cluster_.state)));
    }
  }

  void GiveAllBack() {
    while (!entries_.empty()) Release();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      Transaction transaction(cluster_.state);
      ASSERT_TRUE(IsOk(transaction.SetForeign(nodes_[n], {})));
      ASSERT_TRUE(IsOk(transaction.UpdateNode(nodes_[n], DevicesAsAdded(n))));
      transaction.Commit();
    }
    EXPECT_EQ(cluster_.hash(), empty_hash_);
    ASSERT_TRUE(IsOk(Audit(cluster_.state)));
  }

  std::size_t placed() const { return placed_; }
  std::size_t refused() const { return refused_; }

 private:
  struct Entry {
    std::string name;
    ShapeSpec shape;
    std::size_t node = 0;
    DeviceMask devices;
    std::vector<MigInstance> instances;
    bool held = false;
  };

  NodeSpec DevicesAsAdded(std::size_t n) const {
    return first_specs_.empty() ? specs_[n] : first_specs_[n];
  }

  DeviceFacts Facts(std::size_t n, std::size_t device) const {
    const DeviceSpec& spec = specs_[n].devices[device];
    const auto geometry = catalog_.MigOf(spec.model);
    return {.spec = spec,
            .geometry = geometry == nullptr ? nullptr : &geometry->spec(),
            .foreign_milli = foreign_[n].empty() ? 0 : foreign_[n][device]};
  }

  // Who is on a device, by the validator's rules.
  std::vector<Occupant> There(std::size_t n, std::size_t device, bool held_too,
                              bool used_too = true) const {
    std::vector<Occupant> there;
    for (const Entry& entry : entries_) {
      if (entry.node != n || (entry.held ? !held_too : !used_too)) continue;
      for (const MigInstance& instance : entry.instances) {
        if (static_cast<std::size_t>(instance.device) != device) continue;
        there.push_back(OccupantOf(Facts(n, device), entry.shape, &instance));
      }
      if (!entry.instances.empty() || !entry.devices.contains(static_cast<int>(device))) continue;
      there.push_back(OccupantOf(Facts(n, device), entry.shape, nullptr));
    }
    return there;
  }

  std::int64_t CpuFree(std::size_t n) const {
    std::int64_t free = specs_[n].cpu_milli;
    for (const Entry& entry : entries_) free -= entry.node == n ? entry.shape.cpu_milli : 0;
    return free;
  }

  // Whether the validator would let it come.
  bool MayCome(std::size_t n, const ShapeSpec& shape, const Placement& placement) const {
    if (CpuFree(n) < shape.cpu_milli) return false;
    if (!validator::WrongNumber(shape, placement.devices, placement.instances).empty()) {
      return false;
    }
    for (DeviceMask rest = placement.devices; !rest.empty(); rest.DropFirst()) {
      const auto i = static_cast<std::size_t>(rest.First());
      if (i >= specs_[n].devices.size()) return false;
      const std::string& model = specs_[n].devices[i].model;
      if (!shape.models.empty() && shape.models[0] != model) return false;
      std::vector<Occupant> there = There(n, i, true);
      if (placement.instances.empty()) {
        if (!WhyNot(Facts(n, i), there, shape, nullptr).empty()) return false;
        continue;
      }
      for (const MigInstance& instance : placement.instances) {
        if (static_cast<std::size_t>(instance.device) != i) continue;
        if (!WhyNot(Facts(n, i), there, shape, &instance).empty()) return false;
        there.push_back(OccupantOf(Facts(n, i), shape, &instance));
      }
    }
    return true;
  }

  // Whether any placement of one device or instance would do, all tried.
  bool AnyMayCome(std::size_t n, const ShapeSpec& shape) const {
    for (int device = 0; device < static_cast<int>(specs_[n].devices.size()); ++device) {
      Placement placement{.node = nodes_[n], .devices = DeviceMask::Of(device)};
      if (MayCome(n, shape, placement)) return true;
      const auto geometry =
          catalog_.MigOf(specs_[n].devices[static_cast<std::size_t>(device)].model);
      if (geometry == nullptr) continue;
      for (const MigProfile& profile : geometry->spec().profiles) {
        for (const std::int32_t start : profile.starts) {
          placement.instances = {{.device = device, .profile = profile.name, .start = start}};
          if (MayCome(n, shape, placement)) return true;
        }
      }
    }
    return false;
  }

  // For a failure: what was asked, and why the validator minds.
  std::string Told(std::size_t n, const ShapeSpec& ask, const Placement& placement) const {
    std::string text = "asked milli " + std::to_string(ask.gpu_milli) + " mem " +
                       std::to_string(ask.gpu_mem_mib) + " profile " + ask.mig_profile;
    for (DeviceMask rest = placement.devices; !rest.empty(); rest.DropFirst()) {
      const auto i = static_cast<std::size_t>(rest.First());
      if (i >= specs_[n].devices.size()) continue;
      text += "; device " + std::to_string(i) + " " +
              std::string(SharingModeName(specs_[n].devices[i].sharing)) + ": ";
      const MigInstance* const instance =
          placement.instances.empty() ? nullptr : &placement.instances[0];
      text += WhyNot(Facts(n, i), There(n, i, true), ask, instance);
    }
    return text;
  }

  bool Take(std::size_t n, const ShapeSpec& ask, const Placement& placement, bool held) {
    const std::string name = "t" + std::to_string(next_++);
    const ShapeId shape = cluster_.Intern(ask);
    Transaction transaction(cluster_.state);
    const absl::Status status =
        held ? transaction.AddHold(
                   {.name = name, .owner = "o", .shape = shape, .placement = placement})
             : transaction.Place(name, shape, placement).status();
    const bool may = MayCome(n, ask, placement);
    EXPECT_EQ(status.ok(), may) << status.ToString() << "; " << Told(n, ask, placement);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      ++refused_;
      return false;
    }
    transaction.Commit();
    ++placed_;
    entries_.push_back({.name = name,
                        .shape = ask,
                        .node = n,
                        .devices = placement.devices,
                        .instances = placement.instances,
                        .held = held});
    // Now and then it is tried and taken back.
    return true;
  }

  ShapeSpec RandomAsk() { return asks_[rng_.Below(asks_.size())]; }

  // Where the library would put it.
  bool PlaceChosen() {
    const std::size_t n = rng_.Below(nodes_.size());
    const ShapeSpec ask = RandomAsk();
    const Shape shape = cluster_.ShapeOf(ask);
    const NodeView node = cluster_.node(nodes_[n]);
    const bool fits = Fits(node, shape);
    if (ask.gpu_count == 1) {
      EXPECT_EQ(fits, AnyMayCome(n, ask));
    }
    if (!fits) return true;
    DeviceChoice choice = ChooseDevices(
        node, shape, rng_.Below(2) == 0 ? DeviceOrder::kFullestFirst : DeviceOrder::kLowestIndex);
    if (shape.shares() && rng_.Below(3) == 0) {
      std::vector<DeviceChoice> all;
      ForEachChoice(node, shape, [&](const DeviceChoice& other) { all.push_back(other); });
      EXPECT_FALSE(all.empty());
      if (all.empty()) return true;
      choice = all[rng_.Below(all.size())];
    }
    const std::int64_t before = node.gpu_free_milli();
    const std::int64_t taken = MilliTaken(node, shape, choice);
    const bool done = Take(n, ask, PlacementOf(node, shape, choice), false);
    EXPECT_TRUE(done) << "it fits, so what is chosen must do";
    EXPECT_EQ(before - cluster_.node(nodes_[n]).gpu_free_milli(), taken);
    return done;
  }

  Placement RandomPlacement(std::size_t n, const ShapeSpec& ask) {
    Placement placement;
    placement.node = nodes_[n];
    const auto devices = static_cast<std::uint64_t>(specs_[n].devices.size());
    const bool instances = !ask.mig_profile.empty() || (ask.gpu_mem_mib > 0 && rng_.Below(2) == 0);
    for (std::int64_t i = 0; i < ask.gpu_count; ++i) {
      const auto device = static_cast<int>(rng_.Below(devices + 1));  // one too many
      placement.devices.Insert(device);
      if (!instances) continue;
      const std::vector<std::string> names = {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "1g.6gb"};
      placement.instances.push_back(
          {.device = device,
           .profile = ask.mig_profile.empty() ? names[rng_.Below(names.size())] : ask.mig_profile,
           .start = static_cast<std::int32_t>(rng_.Below(8))});
    }
    std::sort(placement.instances.begin(), placement.instances.end(), Before);
    return placement;
  }

  bool PlaceAnywhere() {
    const std::size_t n = rng_.Below(nodes_.size());
    const ShapeSpec ask = RandomAsk();
    return Take(n, ask, RandomPlacement(n, ask), false);
  }

  bool HoldSome() {
    const std::size_t n = rng_.Below(nodes_.size());
    const ShapeSpec ask = RandomAsk();
    const NodeView node = cluster_.node(nodes_[n]);
    const Shape shape = cluster_.ShapeOf(ask);
    if (!Fits(node, shape)) return Take(n, ask, RandomPlacement(n, ask), true);
    return Take(n, ask, PlacementOf(node, shape, ChooseDevices(node, shape, {})), true);
  }

  // Another description of one device; one that is in use stays what it is.
  bool Resize() {
    if (first_specs_.empty()) first_specs_ = specs_;
    const std::size_t n = rng_.Below(nodes_.size());
    const std::size_t device = rng_.Below(specs_[n].devices.size());
    NodeSpec spec = specs_[n];
    const std::vector<DeviceSpec> kinds = DevicesOfEveryKind();
    const DeviceSpec old = spec.devices[device];
    DeviceSpec& said = spec.devices[device];
    if (rng_.Below(2) == 0) {
      said = kinds[rng_.Below(kinds.size())];
    } else if (said.gpu_mem_mib) {
      said.gpu_mem_mib = 10'000 + static_cast<std::int64_t>(rng_.Below(31'000));
    }
    Transaction transaction(cluster_.state);
    const absl::Status status = transaction.UpdateNode(nodes_[n], spec);
    const bool in_use = !There(n, device, true).empty();
    const bool kept =
        said.model == old.model && said.sharing == old.sharing && said.replicas == old.replicas &&
        (said.sharing == SharingMode::kMig || said.partition_on_demand == old.partition_on_demand);
    EXPECT_EQ(status.ok(), !in_use || kept) << status.ToString();
    if (!status.ok()) return false;
    if (rng_.Below(4) == 0) {  // taken back: as if it had not been
      const std::uint64_t tried = StateHash(cluster_.state);
      transaction.RollbackTo(0);
      EXPECT_TRUE(IsOk(transaction.UpdateNode(nodes_[n], spec)));
      EXPECT_EQ(StateHash(cluster_.state), tried);
    }
    transaction.Commit();
    specs_[n] = spec;
    return true;
  }

  bool SetForeign() {
    const std::size_t n = rng_.Below(nodes_.size());
    ForeignUsage usage;
    usage.device_milli.assign(specs_[n].devices.size(), 0);
    if (rng_.Below(2) == 0) {
      usage.device_milli[rng_.Below(usage.device_milli.size())] =
          static_cast<std::int64_t>(rng_.Below(1'200));
    }
    cluster_.SetForeign(nodes_[n], usage);
    foreign_[n] = usage.device_milli;
    return true;
  }

  void Release() {
    if (entries_.empty()) return;
    const std::size_t i = rng_.Below(entries_.size());
    const Entry entry = entries_[i];
    Transaction transaction(cluster_.state);
    if (entry.held) {
      ASSERT_TRUE(IsOk(transaction.DropHold(*cluster_.state.holds().Find(entry.name))));
    } else {
      ASSERT_TRUE(IsOk(transaction.Release(*cluster_.state.FindTask(entry.name))));
    }
    transaction.Commit();
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void CheckSums() const {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const NodeTable& nodes = cluster_.state.nodes();
      const auto ledgers = nodes.devices(nodes_[n].slot);
      Resources used;
      for (std::size_t i = 0; i < ledgers.size(); ++i) {
        const DeviceLoad load = LoadOf(Facts(n, i), There(n, i, false));
        ASSERT_EQ(ledgers[i].used.gpu_milli, load.gpu_milli);
        ASSERT_EQ(ledgers[i].used_by.parts, load.parts);
        ASSERT_EQ(ledgers[i].used_by.tenants, load.tenants);
        for (const std::int64_t users : load.slices) ASSERT_LE(users, 1) << "instances overlap";
        const DeviceLoad held = LoadOf(Facts(n, i), There(n, i, true, false));
        ASSERT_EQ(ledgers[i].held.gpu_milli, held.gpu_milli);
        ASSERT_GE(nodes.device_free(nodes_[n].slot)[i].gpu_milli, 0);
        ASSERT_GE(nodes.device_free(nodes_[n].slot)[i].mem_mib, 0);
        used[ResourceKind::kGpuMilli] += load.gpu_milli;
      }
      ASSERT_EQ(nodes.used(nodes_[n].slot)[ResourceKind::kGpuMilli], used[ResourceKind::kGpuMilli]);
    }
  }

  Rng rng_;
  TestCluster cluster_;
  ModelCatalog catalog_;
  std::vector<NodeSpec> specs_, first_specs_;
  std::vector<NodeId> nodes_;
  std::vector<std::vector<std::int64_t>> foreign_{3};
  std::vector<ShapeSpec> asks_;
  std::vector<Entry> entries_;
  std::uint64_t empty_hash_ = 0;
  std::size_t steps_ = 0, placed_ = 0, refused_ = 0;
  int next_ = 0;
  bool check_hash_ = true;
};

TEST(DevicesHistory, AHundredThousandStepsInEveryMode) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    DevicesHistory history(seed);
    for (int step = 0; step < 10'000; ++step) {
      history.Step();
      if (testing::Test::HasFailure()) {
        FAIL() << "step " << step;
      }
    }
    EXPECT_GT(history.placed(), 2'000U);
    EXPECT_GT(history.refused(), 500U);
    history.GiveAllBack();
  }
}

}  // namespace
}  // namespace gpusched
