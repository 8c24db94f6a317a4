#include "gpusched/spec/validate_model.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gpusched/spec/validate.h"
#include "gpusched/spec/validate_job.h"
#include "status_matchers.h"

namespace gpusched {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Four slices; two halves that one instance each may take, or the whole.
MigGeometrySpec GoodGeometry() {
  return {.name = "X1-48GB",
          .compute_slices = 4,
          .memory_slices = 4,
          .profiles = {{.name = "1g.12gb",
                        .compute_slices = 1,
                        .memory_slices = 1,
                        .mem_mib = 11'000,
                        .starts = {0, 1, 2, 3}},
                       {.name = "2g.24gb",
                        .compute_slices = 2,
                        .memory_slices = 2,
                        .mem_mib = 22'000,
                        .starts = {0, 2}}},
          .unsourced = {"starts"}};
}

GpuModel GoodModel() {
  GpuModel model;
  model.name = "X1";
  model.vendor = "Maker";
  model.architecture = "Arch";
  model.compute_capability = "1.0";
  model.memory_gib = 48;
  model.peak.fp32 = 20'000;
  model.peak.fp16 = 100'000;
  model.bandwidth_gbs = 1000;
  model.tdp_w = 300;
  model.nvlink_gbs = 0;
  model.mig = "A30-24GB";
  model.unsourced = {"fp16", "tdp_w"};
  return model;
}

// With nothing known but its name.
GpuModel Named(std::string name) {
  GpuModel model;
  model.name = std::move(name);
  return model;
}

template <class Spec>
struct BadField {
  std::function<void(Spec&)> spoil;
  std::vector<std::string> message;  // field, value, remedy
};

TEST(ValidateMigGeometry, EachBadFieldIsNamedWithValueAndRemedy) {
  ASSERT_TRUE(IsOk(Validate(GoodGeometry())));
  using G = MigGeometrySpec;
  const std::vector<BadField<G>> cases = {
      {[](G& g) { g.name = ""; }, {"MIG geometry: name is ''; give it a name"}},
      {[](G& g) { g.name = std::string(257, 'x'); },
       {"name is 257 bytes long ('xxx", "use at most 256 bytes"}},
      {[](G& g) { g.compute_slices = 0; },
       {"MIG geometry 'X1-48GB': compute_slices is 0; use 1 to 64"}},
      {[](G& g) { g.compute_slices = 65; }, {"compute_slices is 65; use 1 to 64"}},
      {[](G& g) { g.memory_slices = 0; }, {"memory_slices is 0; use 1 to 8"}},
      {[](G& g) { g.memory_slices = 9; }, {"memory_slices is 9; use 1 to 8"}},
      {[](G& g) { g.profiles.clear(); }, {"profiles is 0 profiles; use 1 to 16"}},
      {[](G& g) { g.profiles.resize(17); }, {"profiles is 17 profiles; use 1 to 16"}},
      {[](G& g) { g.profiles[1].name = ""; }, {"profiles[1].name is ''; give it a name"}},
      {[](G& g) { g.profiles[1].name = "1g.12gb"; },
       {"profiles[1].name is '1g.12gb'; profiles[0] has it already"}},
      {[](G& g) { g.profiles[0].compute_slices = 0; },
       {"profiles[0].compute_slices is 0; use 1 to 4"}},
      {[](G& g) { g.profiles[0].compute_slices = 5; },
       {"profiles[0].compute_slices is 5; use 1 to 4"}},
      {[](G& g) { g.profiles[1].memory_slices = 0; },
       {"profiles[1].memory_slices is 0; use 1 to 4"}},
      {[](G& g) { g.profiles[1].memory_slices = 5; },
       {"profiles[1].memory_slices is 5; use 1 to 4"}},
      {[](G& g) { g.profiles[1].memory_slices = std::numeric_limits<std::int32_t>::max(); },
       {"profiles[1].memory_slices is 2147483647"}},
      {[](G& g) { g.profiles[1].mem_mib = -1; }, {"profiles[1].mem_mib is -1; use 0 to"}},
      {[](G& g) { g.profiles[1].mem_mib = kMax; }, {"profiles[1].mem_mib is 9223372036854775807"}},
      {[](G& g) { g.profiles[1].mem_mib = kMaxModelMemMib + 1; }, {"profiles[1].mem_mib is"}},
      {[](G& g) { g.profiles[1].starts.clear(); },
       {"profiles[1].starts is none; name at least one legal start"}},
      {[](G& g) { g.profiles[1].starts = {-1}; }, {"profiles[1].starts[0] is -1; use 0 to 2"}},
      {[](G& g) {
         g.profiles[1].starts = {0, 3};
       },
       {"profiles[1].starts[1] is 3; use 2 to 2", "memory_slices apart"}},
      {[](G& g) {
         g.profiles[1].starts = {0, 1};
       },
       {"profiles[1].starts[1] is 1; use 2 to 2"}},
      {[](G& g) {
         g.profiles[0].starts = {0, 2, 1};
       },
       {"profiles[0].starts[2] is 1; use 3 to 3"}},
      {[](G& g) {
         g.profiles[0].starts = {0, 0};
       },
       {"profiles[0].starts[1] is 0; use 1 to 3"}},
      {[](G& g) {
         g.profiles[1].starts = {0, 2, 4};
       },
       {"profiles[1].starts[2] is 4; leave it out"}},
      {[](G& g) {
         g.profiles[1].starts = {0, std::numeric_limits<std::int32_t>::max()};
       },
       {"profiles[1].starts[1] is 2147483647; use 2 to 2"}},
      {[](G& g) {
         g.unsourced = {"starts", "price"};
       },
       {"unsourced[1] is 'price'; name a field: compute_slices, memory_slices, mem_mib, starts"}},
  };
  for (const BadField<G>& bad : cases) {
    G spec = GoodGeometry();
    bad.spoil(spec);
    const absl::Status status = Validate(spec);
    for (const std::string& part : bad.message) EXPECT_TRUE(Refused(status, kInvalid, {part}));
  }
}

TEST(ValidateMigGeometry, LimitsAreIncluded) {
  MigGeometrySpec geometry = GoodGeometry();
  geometry.name = std::string(256, 'x');
  geometry.compute_slices = kMaxMigComputeSlices;
  geometry.profiles[0].mem_mib = kMaxModelMemMib;
  geometry.profiles[1].mem_mib = 0;
  EXPECT_TRUE(IsOk(Validate(geometry)));
  geometry = {
      .name = "one", .compute_slices = 1, .memory_slices = 1, .profiles = {}, .unsourced = {}};
  geometry.profiles = {{.name = "a", .compute_slices = 1, .memory_slices = 1, .starts = {0}}};
  EXPECT_TRUE(IsOk(Validate(geometry)));
  geometry.memory_slices = 8;
  geometry.profiles[0].memory_slices = 8;
  EXPECT_TRUE(IsOk(Validate(geometry)));
}

// The value of a set of slices must fit 16 bits: 9 · 9 · 9 · 9 = 6561, and 5 times that is too
// much.
TEST(ValidateMigGeometry, TooManyStartsAreRefused) {
  MigGeometrySpec geometry{.name = "many", .compute_slices = 8, .profiles = {}, .unsourced = {}};
  for (const char* name : {"a", "b", "c", "d"}) {
    geometry.profiles.push_back({.name = name,
                                 .compute_slices = 1,
                                 .memory_slices = 1,
                                 .starts = {0, 1, 2, 3, 4, 5, 6, 7}});
  }
  EXPECT_TRUE(IsOk(Validate(geometry)));
  EXPECT_LT(MigGeometry(geometry).Value(0), 6561);
  geometry.profiles.push_back(
      {.name = "e", .compute_slices = 2, .memory_slices = 2, .starts = {0, 2, 4, 6}});
  EXPECT_TRUE(Refused(Validate(geometry), kInvalid, {"profiles is too many starts", "32768"}));
  // Profiles with media extensions do not count: their value is none.
  geometry.profiles.back().media_extensions = true;
  EXPECT_TRUE(IsOk(Validate(geometry)));
  EXPECT_EQ(MigGeometry(geometry).Unit(4), 0);
  // As many as there may be at all: the product does not overflow.
  geometry.profiles.resize(kMaxMigProfiles);
  for (std::size_t i = 0; i < geometry.profiles.size(); ++i) {
    geometry.profiles[i] = {.name = std::string(i + 1, 'p'),
                            .compute_slices = 1,
                            .memory_slices = 1,
                            .starts = {0, 1, 2, 3, 4, 5, 6, 7}};
  }
  EXPECT_TRUE(Refused(Validate(geometry), kInvalid, {"too many starts"}));
}

// 8 · 8 · 8 · 8 · 8 is the limit itself.
TEST(ValidateMigGeometry, TheHighestValueFits16Bits) {
  MigGeometrySpec geometry{.name = "most", .compute_slices = 7, .profiles = {}, .unsourced = {}};
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    geometry.profiles.push_back(
        {.name = name, .compute_slices = 1, .memory_slices = 1, .starts = {0, 1, 2, 3, 4, 5, 6}});
  }
  EXPECT_TRUE(IsOk(Validate(geometry)));
  EXPECT_EQ(MigGeometry(geometry).Value(0), kMaxMigValue - 1);
  geometry.profiles[0].starts.push_back(7);
  geometry.compute_slices = 8;
  EXPECT_TRUE(Refused(Validate(geometry), kInvalid, {"too many starts"}));
}

TEST(ValidateMigGeometry, InstancesSideBySideMayNotTakeMoreComputeThanThereIs) {
  MigGeometrySpec geometry = GoodGeometry();
  geometry.compute_slices = 3;
  EXPECT_TRUE(Refused(Validate(geometry), kInvalid,
                      {"compute_slices is 3; instances side by side can take 4", "raise it"}));
  // Without the start at 3, three small ones fit, or a 2g with one.
  geometry.profiles[0].starts = {0, 1, 2};
  geometry.profiles[1].starts = {0};
  EXPECT_TRUE(IsOk(Validate(geometry)));
  geometry.profiles[1].starts = {2};
  EXPECT_TRUE(Refused(Validate(geometry), kInvalid, {"can take 4"}));
}

// Of those that lie in the same slices, the one that takes most counts, whichever is named last.
TEST(ValidateMigGeometry, TheHungriestInstanceOfAPlaceCounts) {
  const MigProfile hungry{.name = "2g", .compute_slices = 2, .memory_slices = 2, .starts = {0, 2}};
  const MigProfile modest{.name = "1g", .compute_slices = 1, .memory_slices = 2, .starts = {0, 2}};
  for (const auto& profiles : {std::vector{hungry, modest}, std::vector{modest, hungry}}) {
    MigGeometrySpec geometry = GoodGeometry();
    geometry.profiles = profiles;
    EXPECT_TRUE(IsOk(Validate(geometry)));
    geometry.compute_slices = 3;
    EXPECT_TRUE(Refused(Validate(geometry), kInvalid, {"can take 4"}));
  }
}

TEST(ValidateMigGeometry, TheBuiltInOnesPass) {
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    EXPECT_TRUE(IsOk(Validate(geometry.spec())));
  }
}

TEST(ValidateGpuModel, EachBadFieldIsNamedWithValueAndRemedy) {
  ASSERT_TRUE(IsOk(Validate(GoodModel(), ModelCatalog())));
  const std::vector<BadField<GpuModel>> cases = {
      {[](GpuModel& m) { m.name = ""; }, {"GPU model: name is ''; give it a name"}},
      {[](GpuModel& m) { m.name = std::string(1000, 'x'); }, {"name is 1000 bytes long"}},
      {[](GpuModel& m) { m.vendor = std::string(257, 'x'); },
       {"GPU model 'X1': vendor is 257 bytes long"}},
      {[](GpuModel& m) { m.architecture = std::string(257, 'x'); }, {"architecture is 257 bytes"}},
      {[](GpuModel& m) { m.compute_capability = std::string(257, 'x'); },
       {"compute_capability is 257 bytes"}},
      {[](GpuModel& m) { m.memory_gib = -1; },
       {"GPU model 'X1': memory_gib is -1; use 0 to 1048576"}},
      {[](GpuModel& m) { m.memory_gib = (1 << 20) + 1; }, {"memory_gib is 1048577"}},
      {[](GpuModel& m) { m.peak.fp64 = -1; }, {"fp64 is -1; use 0 to"}},
      {[](GpuModel& m) { m.peak.fp64 = (std::int64_t{1} << 50) + 1; },
       {"fp64 is 1125899906842625; use 0 to 1125899906842624"}},
      {[](GpuModel& m) { m.peak.fp64_tensor = kMax; }, {"fp64_tensor is 9223372036854775807"}},
      {[](GpuModel& m) { m.peak.fp32 = kMin; }, {"fp32 is -9223372036854775808"}},
      {[](GpuModel& m) { m.peak.tf32 = -2; }, {"tf32 is -2"}},
      {[](GpuModel& m) { m.peak.fp16 = -3; }, {"fp16 is -3"}},
      {[](GpuModel& m) { m.peak.bf16 = -4; }, {"bf16 is -4"}},
      {[](GpuModel& m) { m.peak.fp8 = -5; }, {"fp8 is -5"}},
      {[](GpuModel& m) { m.peak.int8 = -6; }, {"int8 is -6"}},
      {[](GpuModel& m) { m.bandwidth_gbs = -7; }, {"bandwidth_gbs is -7"}},
      {[](GpuModel& m) { m.tdp_w = -8; }, {"tdp_w is -8"}},
      {[](GpuModel& m) { m.nvlink_gbs = -9; }, {"nvlink_gbs is -9"}},
      {[](GpuModel& m) { m.mig = "A30-25GB"; },
       {"mig is 'A30-25GB'; name a geometry of the catalogue, or add it first"}},
      {[](GpuModel& m) { m.mig = std::string(100'000, 'x'); }, {"mig is 'xxx", "…'"}},
      {[](GpuModel& m) {
         m.unsourced = {"fp16", "watts"};
       },
       {"unsourced[1] is 'watts'; name a field: memory_gib, fp64", "tdp_w, nvlink_gbs"}},
  };
  for (const BadField<GpuModel>& bad : cases) {
    GpuModel model = GoodModel();
    bad.spoil(model);
    const absl::Status status = Validate(model, ModelCatalog());
    for (const std::string& part : bad.message) EXPECT_TRUE(Refused(status, kInvalid, {part}));
    EXPECT_LT(status.message().size(), 600U);
  }
}

// Messages are UTF-8, wherever a name is cut.
TEST(ValidateGpuModel, MessagesEscapeLongNames) {
  std::string name = "x";
  for (int i = 0; i < 100; ++i) name += "\u6607";
  const absl::Status status = Validate(Named(name), ModelCatalog());
  EXPECT_TRUE(Refused(status, kInvalid, {"301 bytes long", "\\xe6"}));
}

TEST(ValidateGpuModel, LimitsAndAbsentValuesPass) {
  EXPECT_TRUE(IsOk(Validate(Named("X"), ModelCatalog())));
  GpuModel model = GoodModel();
  model.name = std::string(kMaxNameBytes, 'x');
  model.memory_gib = 1 << 20;
  model.peak.fp64 = std::int64_t{1} << 50;
  model.tdp_w = 0;
  model.unsourced = {"memory_gib", "fp64", "fp64_tensor", "fp32",          "tf32",  "fp16",
                     "bf16",       "fp8",  "int8",        "bandwidth_gbs", "tdp_w", "nvlink_gbs"};
  EXPECT_TRUE(IsOk(Validate(model, ModelCatalog())));
}

TEST(ValidateGpuModel, TheBuiltInOnesPass) {
  for (const GpuModel& model : ModelCatalog::BuiltIn()) {
    EXPECT_TRUE(IsOk(Validate(model, ModelCatalog())));
  }
}

TEST(AddModel, TakesInWhatIsValidAndNothingElse) {
  ModelCatalog catalog;
  ASSERT_TRUE(IsOk(AddModel(catalog, GoodModel())));
  EXPECT_EQ(*catalog.Find("X1"), GoodModel());
  GpuModel bad = GoodModel();
  bad.tdp_w = -1;
  EXPECT_TRUE(Refused(AddModel(catalog, bad), kInvalid, {"tdp_w is -1"}));
  EXPECT_EQ(*catalog.Find("X1"), GoodModel()) << "the former one stays";
  bad.name = "X2";
  EXPECT_TRUE(Refused(AddModel(catalog, bad), kInvalid));
  EXPECT_FALSE(catalog.Knows("X2"));
}

TEST(AddModel, ReplacesTheOneOfItsName) {
  ModelCatalog catalog;
  GpuModel model = GoodModel();
  ASSERT_TRUE(IsOk(AddModel(catalog, model)));
  model.memory_gib = 96;
  ASSERT_TRUE(IsOk(AddModel(catalog, model)));
  EXPECT_EQ(catalog.models().size(), 1U);
  model.name = "T4";
  ASSERT_TRUE(IsOk(AddModel(catalog, model)));
  EXPECT_EQ(catalog.Find("T4")->memory_gib, 96) << "an added one comes before a built-in one";
}

TEST(AddMigGeometry, TakesInWhatIsValidAndNothingElse) {
  ModelCatalog catalog;
  GpuModel model = GoodModel();
  model.mig = "X1-48GB";
  EXPECT_TRUE(Refused(AddModel(catalog, model), kInvalid, {"mig is 'X1-48GB'", "add it first"}));
  ASSERT_TRUE(IsOk(AddMigGeometry(catalog, GoodGeometry())));
  ASSERT_TRUE(IsOk(AddModel(catalog, model)));
  EXPECT_EQ(catalog.MigOf("X1")->spec(), GoodGeometry());
  MigGeometrySpec bad = GoodGeometry();
  bad.compute_slices = 1;
  EXPECT_TRUE(Refused(AddMigGeometry(catalog, bad), kInvalid));
  EXPECT_EQ(catalog.FindMig("X1-48GB")->spec(), GoodGeometry()) << "the former one stays";
}

// What is added is used wherever specs are checked.
TEST(AddMigGeometry, DevicesAndShapesMayNameItsProfiles) {
  ModelCatalog catalog;
  ASSERT_TRUE(IsOk(AddMigGeometry(catalog, GoodGeometry())));
  GpuModel model = GoodModel();
  model.mig = "X1-48GB";
  ASSERT_TRUE(IsOk(AddModel(catalog, model)));
  NodeSpec node{.name = "n", .devices = {{.model = "X1", .gpu_mem_mib = std::nullopt}}};
  node.devices[0].sharing = SharingMode::kMig;
  node.devices[0].partitions = {{"2g.24gb", 2}};
  EXPECT_TRUE(IsOk(Validate(node, catalog)));
  ShapeSpec shape{.gpu_count = 1, .models = {"X1"}, .mig_profile = "2g.24gb"};
  EXPECT_TRUE(IsOk(Validate(shape, catalog)));
  node.devices[0].partitions = {{"2g.24gb", 1}};
  EXPECT_TRUE(Refused(Validate(node, catalog), kInvalid));
  shape.mig_profile = "4g.48gb";
  EXPECT_TRUE(Refused(Validate(shape, catalog), kInvalid));
}

}  // namespace
}  // namespace gpusched
