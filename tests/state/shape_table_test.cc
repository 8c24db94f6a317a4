#include "gpusched/state/shape_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace gpusched {
namespace {

TEST(ShapeTable, EqualShapesShareAnId) {
  ShapeTable shapes;
  EXPECT_FALSE(shapes.Has(ShapeId{.slot = 0}));
  const ShapeId first = shapes.Intern({.cpu_milli = 1});
  EXPECT_EQ(shapes.Intern({.cpu_milli = 1}), first);
  EXPECT_EQ(shapes.size(), 1U);
  EXPECT_TRUE(shapes.Has(first));
  EXPECT_FALSE(shapes.Has(ShapeId()));
}

TEST(ShapeTable, EveryFieldTellsShapesApart) {
  const std::vector<Shape> all = {{},
                                  {.cpu_milli = 1},
                                  {.mem_mib = 1},
                                  {.gpu_mem_mib = 1},
                                  {.gpu_milli = 1},
                                  {.gpu_count = 1},
                                  {.models = 1}};
  ShapeTable shapes;
  for (const Shape& shape : all) shapes.Intern(shape);
  ASSERT_EQ(shapes.size(), all.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) EXPECT_EQ(shapes[ShapeId{.slot = i}], all[i]);
}

}  // namespace
}  // namespace gpusched
