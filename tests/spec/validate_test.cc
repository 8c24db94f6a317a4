#include "gpusched/spec/validate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gpusched/base/device_mask.h"
#include "gpusched/base/quantity.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

NodeSpec GoodNode() {
  NodeSpec node{.name = "n1", .cpu_milli = 96'000, .mem_mib = 1'000, .devices = {}};
  node.devices.assign(2, DeviceSpec{.model = "T4", .gpu_mem_mib = 16'384});
  return node;
}

ShapeSpec GoodShape() {
  return {.cpu_milli = 1,
          .mem_mib = 1,
          .gpu_count = 2,
          .gpu_milli = 1000,
          .gpu_mem_mib = 1,
          .models = {"T4", "A10"}};
}

template <class Spec>
struct BadField {
  std::function<void(Spec&)> spoil;
  std::vector<std::string> message;  // field, value, remedy
};

template <class Spec>
void ExpectEachRefused(const Spec& good, const std::vector<BadField<Spec>>& cases) {
  ASSERT_TRUE(IsOk(Validate(good, ModelCatalog())));
  for (const BadField<Spec>& bad : cases) {
    Spec spec = good;
    bad.spoil(spec);
    const absl::Status status = Validate(spec, ModelCatalog());
    for (const std::string& part : bad.message) EXPECT_TRUE(Refused(status, kInvalid, {part}));
  }
}

TEST(ValidateNode, EachBadFieldIsNamedWithValueAndRemedy) {
  ExpectEachRefused<NodeSpec>(
      GoodNode(),
      {{[](NodeSpec& n) { n.name = ""; }, {"name is ''", "unique name"}},
       {[](NodeSpec& n) { n.cpu_milli = -4; },
        {"node 'n1': cpu_milli is -4; use 0 to 1099511627776"}},
       {[](NodeSpec& n) { n.cpu_milli = kMaxQuantity + 1; }, {"cpu_milli is 1099511627777"}},
       {[](NodeSpec& n) { n.cpu_milli = kMin; }, {"cpu_milli is -9223372036854775808"}},
       {[](NodeSpec& n) { n.mem_mib = -1; }, {"mem_mib is -1", "use 0 to"}},
       {[](NodeSpec& n) { n.mem_mib = kMax; }, {"mem_mib is 9223372036854775807"}},
       {[](NodeSpec& n) { n.devices[1].model = "T5"; },
        {"devices[1].model is 'T5'", "did you mean 'T4'?", "declared opaque"}},
       {[](NodeSpec& n) { n.devices[0].model = ""; }, {"devices[0].model is ''"}},
       {[](NodeSpec& n) { n.devices[1].gpu_milli = 1001; },
        {"devices[1].gpu_milli is 1001; use 0 to 1000"}},
       {[](NodeSpec& n) { n.devices[0].gpu_milli = -1; }, {"devices[0].gpu_milli is -1"}},
       {[](NodeSpec& n) { n.devices[1].gpu_mem_mib = -1; }, {"devices[1].gpu_mem_mib is -1"}},
       {[](NodeSpec& n) { n.devices[1].gpu_mem_mib = kMax; },
        {"devices[1].gpu_mem_mib is 9223372036854775807"}},
       {[](NodeSpec& n) { n.devices[1].reserved_mem_mib = kMax; },
        {"devices[1].reserved_mem_mib is 9223372036854775807"}},
       {[](NodeSpec& n) {
          n.devices[1].gpu_mem_mib = std::nullopt;
          n.devices[1].reserved_mem_mib = 1;
        },
        {"devices[1].reserved_mem_mib is 1", "gpu_mem_mib too"}},
       {[](NodeSpec& n) { n.devices[0].replicas = 2; },
        {"devices[0].replicas is 2", "sharing 'fraction' use 1"}},
       {[](NodeSpec& n) {
          n.devices[0].sharing = SharingMode::kMps;
          n.devices[0].replicas = 1'001;
        },
        {"devices[0].replicas is 1001", "1 to 1000"}},
       {[](NodeSpec& n) {
          n.devices[0].partitions = {{"1g.5gb", 0}};
        },
        {"devices[0].partitions is 1 partitions", "sharing 'mig'"}},
       {[](NodeSpec& n) { n.devices[0].sharing = SharingMode::kMig; },
        {"devices[0].partitions is none", "partition_on_demand"}},
       {[](NodeSpec& n) { n.devices[1].partition_on_demand = true; },
        {"devices[1].partition_on_demand is true", "no MIG geometry"}},
       {[](NodeSpec& n) {
          n.devices[1].sharing = SharingMode::kTimeSlicing;
          n.devices[1].partition_on_demand = true;
        },
        {"devices[1].partition_on_demand is true", "'time_slicing'"}},
       {[](NodeSpec& n) { n.devices.resize(65, n.devices[0]); },
        {"devices is 65 devices", "at most 64", "several nodes"}}});
}

TEST(ValidateNode, LimitsAreIncluded) {
  NodeSpec node = GoodNode();
  node.cpu_milli = kMaxQuantity;
  node.mem_mib = 0;
  node.devices.assign(64, DeviceSpec{.model = "T4", .gpu_milli = 0, .gpu_mem_mib = 0});
  EXPECT_TRUE(IsOk(Validate(node, ModelCatalog())));
}

TEST(ValidateNode, DeviceMemoryIsLimitedAsASum) {
  NodeSpec node = GoodNode();
  node.devices.assign(2, DeviceSpec{.model = "T4", .gpu_mem_mib = kMaxQuantity / 2});
  EXPECT_TRUE(IsOk(Validate(node, ModelCatalog())));
  node.devices[1].gpu_mem_mib = kMaxQuantity / 2 + 1;
  EXPECT_TRUE(Refused(Validate(node, ModelCatalog()), kInvalid,
                      {"sum of devices[].gpu_mem_mib is 1099511627777", "use 0 to 1099511627776"}));
  node.devices.assign(64, DeviceSpec{.model = "T4", .gpu_mem_mib = kMaxQuantity});
  EXPECT_TRUE(Refused(Validate(node, ModelCatalog()), kInvalid, {"sum of devices[].gpu_mem_mib"}));
}

NodeSpec PartitionedNode() {
  NodeSpec node{.name = "n1", .cpu_milli = 1, .mem_mib = 1, .devices = {}};
  node.devices.push_back({.model = "A100-SXM4-40GB",
                          .gpu_mem_mib = 40'960,
                          .sharing = SharingMode::kMig,
                          .partitions = {{"3g.20gb", 4}, {"1g.5gb+me", 0}}});
  return node;
}

TEST(ValidateNode, EachBadPartitionIsNamed) {
  ExpectEachRefused<NodeSpec>(
      PartitionedNode(),
      {{[](NodeSpec& n) { n.devices[0].partitions[0].profile = "3g.40gb"; },
        {"devices[0].partitions[0].profile is '3g.40gb'", "3g.20gb"}},
       {[](NodeSpec& n) { n.devices[0].partitions[0].start = 2; },
        {"devices[0].partitions[0].start is 2", "starts at 0, 4"}},
       {[](NodeSpec& n) {
          n.devices[0].partitions[1] = {"1g.5gb", 5};
        },
        {"devices[0].partitions[1].start is 5", "overlaps"}},
       {[](NodeSpec& n) {
          n.devices[0].partitions.push_back({"1g.5gb+me", 1});
        },
        {"devices[0].partitions[2].profile is '1g.5gb+me'", "one instance with media"}},
       {[](NodeSpec& n) { n.devices[0].model = "T4"; }, {"devices[0].sharing is mig", "'T4'"}}});
}

TEST(ValidateShape, WaysToAskADevice) {
  const ModelCatalog catalog;
  ShapeSpec shape{.gpu_count = 1, .models = {}};
  const auto ok = [&] { return IsOk(Validate(shape, catalog)); };
  EXPECT_FALSE(ok()) << "nothing is asked of the device";
  shape.gpu_mem_mib = 5;
  EXPECT_TRUE(ok());
  for (std::size_t mode = 0; mode < kSharingModes; ++mode) {
    shape.sharing = {static_cast<SharingMode>(mode)};
    EXPECT_TRUE(ok());
  }
  shape.gpu_mem_mib = 0;
  shape.sharing = {SharingMode::kMps};
  EXPECT_TRUE(ok()) << "a replica";
  shape.sharing = {SharingMode::kFraction};
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"sharing[0] is fraction", "replica"}));
  shape.gpu_milli = 10;
  EXPECT_TRUE(ok());
  shape.sharing = {SharingMode::kFraction, SharingMode::kMig};
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"sharing[1] is mig", "a share"}));
  shape.gpu_milli = 1'000;
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"sharing is 2 modes", "exclusive"}));
  shape.sharing = {};
  shape.distinct_devices = true;
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"distinct_devices is true"}));
}

TEST(ValidateShape, ProfilesAreThoseOfAnAllowedModel) {
  const ModelCatalog catalog;
  ShapeSpec shape{.gpu_count = 3, .models = {}, .mig_profile = "1g.5gb", .distinct_devices = true};
  EXPECT_TRUE(IsOk(Validate(shape, catalog)));
  shape.models = {"H100-SXM5-80GB"};
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid,
                      {"mig_profile is '1g.5gb'", "1g.10gb, 1g.10gb+me"}));
  shape.models = {"T4", "A100-PCIe-40GB"};
  EXPECT_TRUE(IsOk(Validate(shape, catalog)));
  shape.models = {};
  shape.mig_profile = "1g.5";
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"mig_profile is '1g.5'"}));
  shape.mig_profile = "1g.5gb";
  shape.gpu_milli = 500;
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"gpu_milli is 500", "profile"}));
  shape.gpu_milli = 0;
  shape.gpu_mem_mib = 7;
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"gpu_mem_mib is 7"}));
  shape.gpu_mem_mib = 0;
  shape.gpu_count = 0;
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"gpu_count is 0", "mig_profile"}));
}

TEST(ValidateShape, EachBadFieldIsNamedWithValueAndRemedy) {
  ExpectEachRefused<ShapeSpec>(
      GoodShape(),
      {{[](ShapeSpec& s) { s.cpu_milli = -1; }, {"cpu_milli is -1", "use 0 to 1099511627776"}},
       {[](ShapeSpec& s) { s.cpu_milli = kMaxQuantity + 1; }, {"cpu_milli is 1099511627777"}},
       {[](ShapeSpec& s) { s.mem_mib = kMin; }, {"mem_mib is -9223372036854775808"}},
       {[](ShapeSpec& s) { s.mem_mib = kMaxQuantity + 1; }, {"mem_mib is 1099511627777"}},
       {[](ShapeSpec& s) { s.gpu_mem_mib = -1; }, {"gpu_mem_mib is -1"}},
       {[](ShapeSpec& s) { s.gpu_mem_mib = kMax; }, {"gpu_mem_mib is 9223372036854775807"}},
       {[](ShapeSpec& s) { s.gpu_count = -1; }, {"gpu_count is -1", "0 to 64"}},
       {[](ShapeSpec& s) { s.gpu_count = 65; }, {"gpu_count is 65", "several tasks"}},
       {[](ShapeSpec& s) { s.gpu_count = kMax; }, {"gpu_count is 9223372036854775807"}},
       {[](ShapeSpec& s) { s.gpu_count = 0; }, {"gpu_milli is 1000", "gpu_count 0", "use 0"}},
       {[](ShapeSpec& s) { s.gpu_count = s.gpu_milli = 0; }, {"gpu_mem_mib is 1", "use 0"}},
       {[](ShapeSpec& s) { s.gpu_count = s.gpu_milli = s.gpu_mem_mib = 0; },
        {"models is 2 names", "leave models empty"}},
       {[](ShapeSpec& s) { s.gpu_milli = 0; }, {"gpu_milli is 0", "1000 for whole devices"}},
       {[](ShapeSpec& s) { s.gpu_milli = 1001; }, {"gpu_milli is 1001", "1 to 999"}},
       {[](ShapeSpec& s) { s.gpu_milli = -500; }, {"gpu_milli is -500"}},
       {[](ShapeSpec& s) { s.gpu_milli = 999; }, {"gpu_milli is 999", "2 devices", "use 1000"}},
       {[](ShapeSpec& s) { s.models[1] = "H100-SXM-80GB"; },
        {"models[1] is 'H100-SXM-80GB'", "did you mean 'H100-", "declared opaque"}}});
}

TEST(ValidateShape, LimitsAreIncluded) {
  ShapeSpec share = GoodShape();
  share.gpu_count = 1;
  for (const std::int64_t milli : {1, 999, 1000}) {
    share.gpu_milli = milli;
    EXPECT_TRUE(IsOk(Validate(share, ModelCatalog())));
  }
  ShapeSpec wide = GoodShape();
  wide.gpu_count = kMaxDevicesPerNode;
  wide.cpu_milli = wide.mem_mib = wide.gpu_mem_mib = kMaxQuantity;
  EXPECT_TRUE(IsOk(Validate(wide, ModelCatalog())));
  EXPECT_TRUE(IsOk(Validate(ShapeSpec(), ModelCatalog())));
}

TEST(Validate, OpaqueModelsPassOnceDeclared) {
  ModelCatalog catalog;
  NodeSpec node = GoodNode();
  node.devices[0].model = "G2";
  ShapeSpec shape = GoodShape();
  shape.models = {"G2"};
  EXPECT_TRUE(Refused(Validate(node, catalog), kInvalid, {"'G2'"}));
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid, {"'G2'"}));
  catalog.DeclareOpaque("G2");
  EXPECT_TRUE(IsOk(Validate(node, catalog)));
  EXPECT_TRUE(IsOk(Validate(shape, catalog)));
}

TEST(GpuAskFromGpus, TurnsNumbersIntoCountAndShare) {
  const struct {
    double gpus;
    std::int64_t count;
    std::int64_t milli;
  } cases[] = {{0, 0, 0},         {0.001, 1, 1}, {0.18, 1, 180}, {0.0058, 1, 6}, {0.9994, 1, 999},
               {0.9996, 1, 1000}, {1, 1, 1000},  {2, 2, 1000},   {64, 64, 1000}};
  for (const auto& c : cases) {
    const auto ask = GpuAskFromGpus(c.gpus);
    ASSERT_TRUE(ask.ok()) << c.gpus;
    EXPECT_EQ(ask->count, c.count) << c.gpus;
    EXPECT_EQ(ask->milli, c.milli) << c.gpus;
  }
}

TEST(GpuAskFromGpus, RefusesWhatIsNoAskAndNamesTheField) {
  EXPECT_TRUE(Refused(GpuAskFromGpus(std::numeric_limits<double>::quiet_NaN()), kInvalid,
                      {"gpu is nan", "finite"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(std::numeric_limits<double>::infinity()), kInvalid,
                      {"gpu is inf", "finite"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(-0.5), kInvalid, {"gpu is -0.5", "0 or more"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(1.5), kInvalid, {"gpu is 1.5", "whole number"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(0.00001), kInvalid, {"gpu is 1e-05", "at least 0.001"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(0.0003), kInvalid, {"gpu is 0.0003", "0.001"}));
  EXPECT_TRUE(Refused(GpuAskFromGpus(1e15), kInvalid, {"gpu is 1e+15", "at most 1099511627"}));
}

TEST(CpuMilliFromCores, TakesAnyPartOfACore) {
  EXPECT_EQ(CpuMilliFromCores(1.5).value_or(-1), 1'500);
  EXPECT_EQ(CpuMilliFromCores(0).value_or(-1), 0);
  EXPECT_EQ(CpuMilliFromCores(0.1).value_or(-1), 100);
  EXPECT_TRUE(Refused(CpuMilliFromCores(-1), kInvalid, {"cpu is -1"}));
  EXPECT_TRUE(Refused(CpuMilliFromCores(0.0001), kInvalid, {"cpu is 0.0001"}));
  EXPECT_TRUE(Refused(CpuMilliFromCores(1e15), kInvalid, {"cpu is 1e+15"}));
}

}  // namespace
}  // namespace gpusched
