#include "gpusched/state/device_ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gpusched/spec/gpu_model.h"
#include "random_cluster.h"

namespace gpusched {
namespace {

constexpr std::int32_t kSomeProfile = 0;

// One device with whoever comes to it.
class Device {
 public:
  explicit Device(DeviceSpec spec) : geometry_(ModelCatalog().MigOf(spec.model)) {
    spec.gpu_mem_mib = spec.gpu_mem_mib ? spec.gpu_mem_mib : 40'960;
    SetCapacity(spec, geometry_.get(), ledger);
  }

  void Add(const Shape& shape, const MigInstance* instance = nullptr, std::int64_t sign = 1) {
    AddTake(TakeOf(ledger, geometry_.get(), shape, instance), ledger, geometry_.get(), sign,
            ledger.used, ledger.used_by);
  }
  void Add(const std::string& profile, std::int32_t start, std::int64_t sign = 1) {
    const MigInstance instance{.device = 0, .profile = profile, .start = start};
    Add({.gpu_count = 1, .profile = kSomeProfile}, &instance, sign);
  }
  DeviceFree free() const { return FreeOf(ledger, 0, geometry_.get()); }
  DeviceGrant Grant(const Shape& shape, const std::vector<MigInstance>& instances = {}) const {
    return GrantOf(ledger, geometry_.get(), shape, instances);
  }

  DeviceLedger ledger;

 private:
  std::shared_ptr<const MigGeometry> geometry_;
};

DeviceSpec A100(SharingMode sharing, std::int64_t replicas = 1, bool on_demand = false) {
  return {.model = "A100-SXM4-40GB",
          .gpu_mem_mib = 40'960,
          .sharing = sharing,
          .replicas = replicas,
          .partition_on_demand = on_demand};
}

Shape Share(std::int32_t milli, std::int64_t mem = 0) {
  return {.gpu_mem_mib = mem, .gpu_milli = milli, .gpu_count = 1};
}
const Shape kWhole{.gpu_milli = 1'000, .gpu_count = 1};

TEST(DeviceLedger, ReplicasAddUpToTheWholeHoweverMany) {
  Device device(A100(SharingMode::kMps, 7));
  EXPECT_EQ(device.free().offers, kOfferWhole | kOfferMps);
  for (int i = 1; i <= 7; ++i) {
    device.Add(Share(100));  // ⌈0.7⌉ of a replica
    EXPECT_EQ(device.ledger.used.gpu_milli, 1'000 * i / 7);
    EXPECT_EQ(device.free().gpu_milli, 1'000 * (7 - i) / 7);
  }
  EXPECT_EQ(device.ledger.used.gpu_milli, 1'000);
  EXPECT_EQ(device.free().offers, 0);
  for (int i = 0; i < 7; ++i) device.Add(Share(100), nullptr, -1);
  EXPECT_EQ(device.ledger.used, DeviceAmounts{});
  EXPECT_EQ(device.ledger.used_by, DeviceTenancy{});
}

TEST(DeviceLedger, AShareOfAReplicatedDeviceIsRoundedUpToReplicas) {
  Device device(A100(SharingMode::kTimeSlicing, 3));
  const auto replicas = [&](std::int32_t milli) {
    return TakeOf(device.ledger, nullptr, Share(milli), nullptr).parts;
  };
  EXPECT_EQ(replicas(0), 1) << "a replica was asked, or memory";
  EXPECT_EQ(replicas(1), 1);
  EXPECT_EQ(replicas(333), 1);
  EXPECT_EQ(replicas(334), 2);
  EXPECT_EQ(replicas(666), 2);
  EXPECT_EQ(replicas(667), 3);
  const DeviceTake whole = TakeOf(device.ledger, nullptr, kWhole, nullptr);
  EXPECT_TRUE(whole.whole);
  EXPECT_EQ(whole.parts, 3);
  EXPECT_EQ(device.Grant(Share(334)).gpu_milli, 666);
  EXPECT_EQ(device.Grant(Share(334)).mode, SharingMode::kTimeSlicing);
  EXPECT_EQ(device.Grant(kWhole).mode, SharingMode::kExclusive);
}

TEST(DeviceLedger, SevenSlicesAreAWholeDevice) {
  Device device(A100(SharingMode::kMig, 1, true));
  EXPECT_EQ(device.free().offers, kOfferMig | kOfferMedia);
  device.Add("4g.20gb", 0);
  EXPECT_EQ(device.ledger.used.gpu_milli, 571);
  EXPECT_EQ(device.free().gpu_milli, 428) << "three of seven";
  device.Add("3g.20gb", 4);
  EXPECT_EQ(device.ledger.used.gpu_milli, 1'000);
  EXPECT_EQ(device.ledger.used.mem_mib, 2 * 19'968);
  EXPECT_EQ(device.free().gpu_milli, 0);
  EXPECT_EQ(device.free().occupied, 0xFF);
  EXPECT_EQ(device.Grant({.gpu_count = 1, .profile = kSomeProfile}, {{0, "3g.20gb", 4}}),
            (DeviceGrant{.mode = SharingMode::kMig,
                         .gpu_milli = 428,
                         .gpu_mem_mib = 19'968,
                         .instances = {{0, "3g.20gb", 4}}}));
}

TEST(DeviceLedger, MediaEnginesAreGivenOnce) {
  Device device(A100(SharingMode::kMig, 1, true));
  device.Add("1g.5gb+me", 0);
  EXPECT_EQ(device.free().offers, kOfferMig);
  device.Add("1g.5gb+me", 0, -1);
  EXPECT_EQ(device.free().offers, kOfferMig | kOfferMedia);
}

TEST(DeviceLedger, WhoIsFirstDecidesWhatAnOnDemandDeviceIs) {
  Device device(A100(SharingMode::kFraction, 1, true));
  EXPECT_EQ(device.free().offers, kOfferWhole | kOfferShare | kOfferMig | kOfferMedia);
  device.Add(Share(10));
  EXPECT_EQ(device.free().offers, kOfferShare);
  device.Add(Share(10), nullptr, -1);
  device.Add("1g.5gb", 6);
  EXPECT_EQ(device.free().offers, kOfferMig | kOfferMedia);
  device.Add("1g.5gb", 6, -1);
  device.Add(kWhole);
  EXPECT_EQ(device.free().offers, 0);
  device.Add(kWhole, nullptr, -1);
  EXPECT_EQ(device.free().offers, kOfferWhole | kOfferShare | kOfferMig | kOfferMedia);
}

TEST(DeviceLedger, MemoryAloneKeepsTheWholeAway) {
  Device device(A100(SharingMode::kFraction));
  device.Add(Share(0, 1'000));
  EXPECT_EQ(device.free().gpu_milli, 1'000);
  EXPECT_EQ(device.free().mem_mib, 39'960);
  EXPECT_EQ(device.free().offers, kOfferShare) << "not whole any more";
}

TEST(DeviceLedger, TheReserveIsNeverGivenOut) {
  DeviceSpec spec = A100(SharingMode::kExclusive);
  spec.reserved_mem_mib = 960;
  Device device(spec);
  EXPECT_EQ(device.free().mem_mib, 40'000);
  EXPECT_EQ(device.free().offers, kOfferWhole | kOfferWholeForMemory);
  EXPECT_EQ(SpecOf(device.ledger, nullptr, spec.model), spec);
}

TEST(DeviceLedger, FixedPartitionsComeBackAsTheyWereSaid) {
  DeviceSpec spec = A100(SharingMode::kMig);
  spec.partitions = {{"3g.20gb", 4}, {"1g.5gb", 1}};
  Device device(spec);
  EXPECT_EQ(device.ledger.fixed.count, 2);
  EXPECT_EQ(device.ledger.fixed.slices, 0xF2);
  EXPECT_EQ(SpecOf(device.ledger, ModelCatalog().MigOf(spec.model).get(), spec.model), spec);
}

// An instance where none can be, taken in as it was found.
TEST(DeviceLedger, WhatTheDeviceCannotHaveTakesTheWholeOfIt) {
  Device plain(A100(SharingMode::kFraction));
  plain.Add("1g.5gb", 0);
  EXPECT_EQ(plain.ledger.used.gpu_milli, 1'000);
  EXPECT_EQ(plain.free().offers, 0);
  Device replicated(A100(SharingMode::kMps, 4));
  replicated.Add("1g.5gb", 0);
  EXPECT_EQ(replicated.ledger.used.gpu_milli, 1'000);
  EXPECT_EQ(replicated.ledger.used_by.parts, 4);
  Device partitioned(A100(SharingMode::kMig, 1, true));
  partitioned.Add("1g.5gb", 7);
  EXPECT_EQ(partitioned.free().offers, 0) << "7 is no legal start";
  partitioned.Add("1g.5gb", 7, -1);
  partitioned.Add(Share(100));
  EXPECT_EQ(partitioned.free().offers, 0);
  EXPECT_EQ(partitioned.ledger.used.gpu_milli, 1'000);
}

TEST(DeviceLedger, OthersUse) {
  Device device(A100(SharingMode::kMps, 4));
  device.ledger.foreign.gpu_milli = 300;
  EXPECT_EQ(device.free().gpu_milli, 500) << "two replicas of 700 milli are whole";
  EXPECT_EQ(device.free().offers, kOfferMps);
  device.ledger.foreign.gpu_milli = 1'000;
  EXPECT_EQ(device.free().offers, 0);
  EXPECT_EQ(FreeWhenEmpty(device.ledger, 0, nullptr).offers, kOfferWhole | kOfferMps);
}

// The short forms for devices that are shared by shares alone say what the general ones say.
TEST(DeviceLedger, TheShortFormsForSharesSayTheSame) {
  Rng rng(5);
  std::size_t short_forms = 0;
  for (int round = 0; round < 300; ++round) {
    DeviceSpec spec = A100(SharingMode::kFraction);
    if (OneIn(rng, 3)) spec.gpu_milli = IntBelow(rng, 3) * 500;
    Device one(spec);
    one.ledger.mem_tracked = OneIn(rng, 2);
    one.ledger.foreign.gpu_milli = OneIn(rng, 3) ? IntBelow(rng, 1'200) : 0;
    Device two = one;
    std::vector<Shape> on_it;
    for (int step = 0; step < 12; ++step) {
      const bool held = OneIn(rng, 4);
      const auto column = [&](DeviceLedger& ledger) -> std::pair<DeviceAmounts&, DeviceTenancy&> {
        if (held) return {ledger.held, ledger.held_by};
        return {ledger.used, ledger.used_by};
      };
      const Shape shape = OneIn(rng, 4) ? kWhole
                                        : Share(static_cast<std::int32_t>(IntBelow(rng, 999)),
                                                IntBelow(rng, 3) * 9'000);
      const std::int64_t sign = OneIn(rng, 3) ? -1 : 1;
      auto [amounts, tenancy] = column(one.ledger);
      AddTake(TakeOf(one.ledger, nullptr, shape, nullptr), one.ledger, nullptr, sign, amounts,
              tenancy);
      auto [short_amounts, short_tenancy] = column(two.ledger);
      AddShare(shape, sign, short_amounts, short_tenancy);
      ASSERT_EQ(amounts, short_amounts);
      ASSERT_EQ(tenancy, short_tenancy);
      ASSERT_TRUE(SharedByFraction(two.ledger));
      const DeviceFree general = FreeOf(one.ledger, 3, nullptr);
      const DeviceFree shorter = FreeOfShared(two.ledger, 3);
      ASSERT_EQ(general.gpu_milli, shorter.gpu_milli);
      ASSERT_EQ(general.mem_mib, shorter.mem_mib);
      ASSERT_EQ(general.offers, shorter.offers);
      ASSERT_EQ(general.model, shorter.model);
      ++short_forms;
    }
  }
  EXPECT_EQ(short_forms, 3'600U);
  EXPECT_FALSE(SharedByFraction(Device(A100(SharingMode::kMps, 2)).ledger));
  EXPECT_FALSE(SharedByFraction(Device(A100(SharingMode::kFraction, 1, true)).ledger));
}

}  // namespace
}  // namespace gpusched
