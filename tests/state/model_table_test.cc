#include "gpusched/state/model_table.h"

#include <gtest/gtest.h>

#include <string>

namespace gpusched {
namespace {

TEST(ModelTable, GivesIndicesInOrderOfAppearance) {
  ModelTable models;
  EXPECT_EQ(models.Find("T4"), std::nullopt);
  EXPECT_EQ(models.Intern("T4"), 0U);
  EXPECT_EQ(models.Intern("A10"), 1U);
  EXPECT_EQ(models.Intern("T4"), 0U);
  EXPECT_EQ(models.size(), 2U);
  EXPECT_EQ(models.name(1), "A10");
  EXPECT_EQ(models.Find("A10"), 1U);
}

TEST(ModelTable, IsFullAt64) {
  ModelTable models;
  for (std::uint32_t i = 0; i < kMaxModels; ++i) {
    EXPECT_EQ(models.Intern("m" + std::to_string(i)), i);
  }
  EXPECT_EQ(models.Intern("one more"), std::nullopt);
  EXPECT_EQ(models.Intern("m63"), 63U);
  EXPECT_EQ(models.size(), 64U);
}

}  // namespace
}  // namespace gpusched
