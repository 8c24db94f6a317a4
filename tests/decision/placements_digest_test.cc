#include "gpusched/decision/placements_digest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace gpusched {
namespace {

// FNV-1a over text, in five lines, as a stranger would write it.
std::uint64_t Fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

TEST(PlacementsDigest, IsFnv1aOverOneLineATask) {
  PlacementsDigest digest;
  EXPECT_EQ(digest.value(), Fnv1a(""));
  digest.Add(0, "a", "node-1", DeviceMask::Of(3), 470);
  EXPECT_EQ(digest.value(), Fnv1a("0,a,node-1,3,470\n"));
  digest.Add(1, "b", "node-2", DeviceMask((std::uint64_t{1} << 63) | 0b101), 1000);
  digest.Add(2, "c", "", {}, 1000);
  digest.Add(3, "d", "node-1", {}, 0);
  EXPECT_EQ(digest.value(),
            Fnv1a("0,a,node-1,3,470\n1,b,node-2,0|2|63,1000\n2,c,,,1000\n3,d,node-1,,0\n"));
}

TEST(PlacementsDigest, DependsOnEveryFieldAndTheOrder) {
  const auto of = [](std::int64_t sequence, std::string_view task, std::string_view node,
                     DeviceMask devices, std::int64_t milli) {
    PlacementsDigest digest;
    digest.Add(sequence, task, node, devices, milli);
    return digest.value();
  };
  const std::uint64_t base = of(1, "t", "n", DeviceMask::Of(0), 500);
  EXPECT_NE(base, of(2, "t", "n", DeviceMask::Of(0), 500));
  EXPECT_NE(base, of(1, "u", "n", DeviceMask::Of(0), 500));
  EXPECT_NE(base, of(1, "t", "m", DeviceMask::Of(0), 500));
  EXPECT_NE(base, of(1, "t", "n", DeviceMask::Of(1), 500));
  EXPECT_NE(base, of(1, "t", "n", DeviceMask::Of(0), 501));
}

}  // namespace
}  // namespace gpusched
