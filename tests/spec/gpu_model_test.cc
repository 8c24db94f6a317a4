#include "gpusched/spec/gpu_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quoted_csv.h"

namespace gpusched {
namespace {

TEST(ModelCatalog, BuiltInRowsAreUniqueAndComplete) {
  std::set<std::string_view> names;
  for (const GpuModel& model : ModelCatalog::BuiltIn()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    EXPECT_FALSE(model.name.empty());
    EXPECT_FALSE(model.architecture.empty()) << model.name;
    EXPECT_GT(model.memory_gib, 0) << model.name;
  }
  EXPECT_GE(names.size(), 20U);
}

// A name that states a memory size must agree with the column.
TEST(ModelCatalog, BuiltInMemoryAgreesWithTheName) {
  for (const GpuModel& model : ModelCatalog::BuiltIn()) {
    const std::size_t end = model.name.rfind("GB");
    const std::size_t dash = model.name.rfind('-');
    if (end == std::string_view::npos || dash == std::string_view::npos || end < dash) continue;
    EXPECT_EQ(std::string(model.name.substr(dash + 1, end - dash - 1)),
              std::to_string(model.memory_gib))
        << model.name;
  }
}

TEST(ModelCatalog, KnowsExactSpellingsOnly) {
  const ModelCatalog catalog;
  EXPECT_TRUE(catalog.Knows("T4"));
  EXPECT_FALSE(catalog.Knows("t4"));
  EXPECT_FALSE(catalog.Knows(""));
  EXPECT_FALSE(catalog.Knows("G2"));
}

TEST(ModelCatalog, OpaqueNamesAreKnownOnceDeclared) {
  ModelCatalog catalog;
  catalog.DeclareOpaque("G2");
  catalog.DeclareOpaque("G2");
  catalog.DeclareOpaque("T4");  // built in: nothing to declare
  EXPECT_TRUE(catalog.Knows("G2"));
  EXPECT_EQ(catalog.opaque(), std::vector<std::string>{"G2"});
  EXPECT_FALSE(ModelCatalog().Knows("G2")) << "a declaration belongs to one catalogue";
}

TEST(ModelCatalog, NearestTakesTheFewestEdits) {
  ModelCatalog catalog;
  EXPECT_EQ(catalog.Nearest("H100-SXM-80GB"), "H100-SXM5-80GB");
  EXPECT_EQ(catalog.Nearest("a100-pcie-40gb"), "A100-PCIe-40GB");  // capitals cost nothing
  EXPECT_EQ(catalog.Nearest("V100-SXM2-GB"), "V100-SXM2-16GB");    // ties with 32: the earlier
  EXPECT_EQ(catalog.Nearest("MI300"), "MI300X");
  catalog.DeclareOpaque("V100M32");
  EXPECT_EQ(catalog.Nearest("V100M3"), "V100M32");
}

TEST(ModelCatalog, NearestOfAFamilyNameIsOneOfTheFamily) {
  const ModelCatalog catalog;
  EXPECT_EQ(catalog.Nearest("H100"), "H100-PCIe-80GB");
  EXPECT_EQ(catalog.Nearest("a100"), "A100-PCIe-40GB");
  EXPECT_EQ(catalog.Nearest("H200"), "H200-SXM-141GB");
  EXPECT_EQ(catalog.Nearest("A800"), "A800-SXM4-80GB");
}

TEST(ModelCatalog, NearestCopesWithLongAndEmptyNames) {
  const ModelCatalog catalog;
  EXPECT_TRUE(catalog.Knows(catalog.Nearest("")));
  EXPECT_TRUE(catalog.Knows(catalog.Nearest(std::string(1'000'000, 'x'))));
}

TEST(ModelCatalog, BuiltInGeometriesAreFoundByNameAndByModel) {
  const ModelCatalog catalog;
  std::set<std::string> used;
  for (const GpuModel& model : ModelCatalog::BuiltIn()) {
    const auto geometry = catalog.MigOf(model.name);
    EXPECT_EQ(geometry != nullptr, !model.mig.empty()) << model.name;
    if (geometry == nullptr) continue;
    EXPECT_EQ(geometry->spec().name, model.mig);
    EXPECT_EQ(geometry, catalog.FindMig(model.mig)) << "built once";
    used.insert(model.mig);
  }
  EXPECT_GE(used.size(), 8U);
  std::set<std::string> names;
  for (const MigGeometry& geometry : ModelCatalog::BuiltInMig()) {
    EXPECT_TRUE(names.insert(geometry.spec().name).second) << geometry.spec().name;
  }
  EXPECT_EQ(catalog.FindMig("A100"), nullptr);
  EXPECT_EQ(catalog.MigOf("T4"), nullptr) << "it has no MIG";
  EXPECT_EQ(catalog.MigOf("T5"), nullptr) << "it is no model";
}

TEST(ModelCatalog, AnOpaqueModelHasNoRow) {
  ModelCatalog catalog;
  catalog.DeclareOpaque("G2");
  EXPECT_EQ(catalog.Find("G2"), nullptr);
  EXPECT_EQ(catalog.MigOf("G2"), nullptr);
}

GpuModel Model(std::string name, std::int64_t memory_gib) {
  GpuModel model;
  model.name = std::move(name);
  model.memory_gib = memory_gib;
  return model;
}

TEST(ModelCatalog, AddedModelsAreKnownAndComeBeforeBuiltInOnes) {
  ModelCatalog catalog;
  GpuModel model = Model("X1", 48);
  model.mig = "A30-24GB";
  catalog.Put(model);
  catalog.Put(Model("T4", 17));
  EXPECT_TRUE(catalog.Knows("X1"));
  ASSERT_NE(catalog.Find("X1"), nullptr);
  EXPECT_EQ(catalog.Find("X1")->memory_gib, 48);
  EXPECT_EQ(catalog.MigOf("X1")->spec().name, "A30-24GB");
  EXPECT_EQ(catalog.Find("T4")->memory_gib, 17);
  EXPECT_EQ(catalog.Nearest("X2"), "X1");
  EXPECT_EQ(ModelCatalog().Find("T4")->memory_gib, 16) << "an addition belongs to one catalogue";
  // Once more: it takes the place of the former one.
  catalog.Put(Model("X1", 96));
  EXPECT_EQ(catalog.Find("X1")->memory_gib, 96);
  EXPECT_EQ(catalog.models().size(), 2U);
  EXPECT_EQ(catalog.models()[0].name, "X1");
}

TEST(ModelCatalog, AddedGeometriesComeBeforeBuiltInOnes) {
  ModelCatalog catalog;
  MigGeometrySpec half = catalog.FindMig("A30-24GB")->spec();
  half.profiles.pop_back();
  catalog.Put(half);
  EXPECT_EQ(catalog.FindMig("A30-24GB")->spec(), half);
  EXPECT_EQ(catalog.MigOf("A30")->spec(), half) << "for models that are built in too";
  half.profiles.pop_back();
  catalog.Put(half);
  ASSERT_EQ(catalog.geometries().size(), 1U);
  EXPECT_EQ(catalog.geometries()[0]->spec(), half);
  EXPECT_EQ(ModelCatalog().MigOf("A30")->spec().profiles.size(), 5U);
}

// A geometry outlives the catalogue that it came from, if it was added.
TEST(ModelCatalog, GeometriesAreShared) {
  std::shared_ptr<const MigGeometry> geometry;
  {
    ModelCatalog catalog;
    MigGeometrySpec spec = catalog.FindMig("A30-24GB")->spec();
    spec.name = "mine";
    catalog.Put(spec);
    geometry = catalog.FindMig("mine");
  }
  EXPECT_EQ(geometry->spec().name, "mine");
}

// --- against the table of published facts
// ---------------------------------------------------------

// Rates in the table are TFLOPS, thousandths of which are our GFLOPS; of a board's, half is one
// device's. Rounded down.
std::optional<std::int64_t> Rate(const std::string& text, std::int64_t devices) {
  if (text.empty()) return std::nullopt;
  return Thousandths(text) / devices;
}

std::optional<std::int64_t> Whole(const std::string& text, std::int64_t devices) {
  if (text.empty()) return std::nullopt;
  return Thousandths(text) / devices / 1000;
}

TEST(ModelCatalogData, EveryRowOfTheTableIsABuiltInModel) {
  const char* data = std::getenv("GPUSCHED_DATA");
  if (data == nullptr) GTEST_SKIP() << "GPUSCHED_DATA is not set: no table to read";
  const auto rows = ReadQuotedCsv(std::string(data) + "/gpu_models.csv");
  ASSERT_EQ(rows.size(), ModelCatalog::BuiltIn().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CsvRow& row = rows[i];
    const GpuModel& model = ModelCatalog::BuiltIn()[i];
    std::string name = row.at("model");
    if (name == "H100-96GB (GH200)") name = "GH200-96GB";
    if (name == "GB200 (per GPU)") name = "GB200";
    SCOPED_TRACE(name);
    EXPECT_EQ(model.name, name);
    EXPECT_EQ(model.vendor, row.at("vendor"));
    EXPECT_EQ(model.architecture, row.at("architecture"));
    EXPECT_EQ(model.compute_capability, row.at("compute_capability"));
    // Two devices on a board, of which the table has the board.
    const std::int64_t devices = name == "K80" || name == "MI250X" ? 2 : 1;
    EXPECT_EQ(model.memory_gib, Whole(row.at("memory_gb"), devices));
    EXPECT_EQ(model.peak.fp64, Rate(row.at("fp64_tflops"), devices));
    EXPECT_EQ(model.peak.fp64_tensor, Rate(row.at("fp64_tensor_tflops"), devices));
    EXPECT_EQ(model.peak.fp32, Rate(row.at("fp32_tflops"), devices));
    EXPECT_EQ(model.peak.tf32, Rate(row.at("tf32_tflops_dense"), devices));
    EXPECT_EQ(model.peak.fp16, Rate(row.at("fp16_tflops_dense"), devices));
    EXPECT_EQ(model.peak.bf16, Rate(row.at("bf16_tflops_dense"), devices));
    EXPECT_EQ(model.peak.fp8, Rate(row.at("fp8_tflops_dense"), devices));
    EXPECT_EQ(model.peak.int8, Rate(row.at("int8_tops_dense"), devices));
    EXPECT_EQ(model.bandwidth_gbs, Whole(row.at("memory_bandwidth_gbs"), devices));
    EXPECT_EQ(model.tdp_w, Whole(row.at("tdp_w"), devices));
    EXPECT_EQ(model.nvlink_gbs, Whole(row.at("nvlink_gbs_total"), 1));
    EXPECT_EQ(!model.mig.empty(), row.at("mig_capable") == "yes");
    if (const auto geometry = ModelCatalog().MigOf(model.name)) {
      EXPECT_EQ(geometry->spec().compute_slices, Whole(row.at("max_mig_instances"), 1));
    }
    if (row.at("flags").find("UNSOURCED") != std::string::npos) {
      EXPECT_FALSE(model.unsourced.empty());
    }
  }
}

}  // namespace
}  // namespace gpusched
