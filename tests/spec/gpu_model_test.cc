#include "gpusched/spec/gpu_model.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

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

}  // namespace
}  // namespace gpusched
