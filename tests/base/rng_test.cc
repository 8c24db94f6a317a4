#include "gpusched/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace gpusched {
namespace {

// SplitMix64 as in the reference C code, written out.
std::uint64_t ReferenceDraw(std::uint64_t& x) {
  std::uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

TEST(Rng, DrawsTheKnownSequence) {
  // Published test vector of SplitMix64 for seed 1234567.
  Rng rng(1234567);
  EXPECT_EQ(rng.Next(), 6457827717110365317ULL);
  EXPECT_EQ(rng.Next(), 3203168211198807973ULL);
  EXPECT_EQ(rng.Next(), 9817491932198370423ULL);
  EXPECT_EQ(rng.Next(), 4593380528125082431ULL);
  EXPECT_EQ(rng.Next(), 16408922859458223821ULL);
}

TEST(Rng, AgreesWithTheReference) {
  for (const std::uint64_t seed : {0ULL, 1ULL, 42ULL, ~0ULL}) {
    Rng rng(seed);
    std::uint64_t x = seed;
    for (int i = 0; i < 1'000; ++i) ASSERT_EQ(rng.Next(), ReferenceDraw(x));
  }
}

TEST(Rng, WorksAtCompileTime) {
  static_assert(Rng(1234567).Next() == 6457827717110365317ULL);
  static_assert(Rng(7).Below(1) == 0);
}

TEST(RngBelow, StaysInRangeAndReachesAllOfIt) {
  Rng rng(3);
  for (const std::uint64_t bound : {1ULL, 2ULL, 3ULL, 7ULL, 64ULL}) {
    std::vector<bool> seen(bound, false);
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t draw = rng.Below(bound);
      ASSERT_LT(draw, bound);
      seen[draw] = true;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(bound));
  }
}

// With a bound of 3/4 · 2^64, a plain remainder would give the lowest third twice the chance.
TEST(RngBelow, IsUnbiasedForAHugeBound) {
  const std::uint64_t third = std::uint64_t{1} << 62;
  std::array<int, 3> counts{};
  Rng rng(4);
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(rng.Below(3 * third) / third)];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 3, 500);  // 6 standard deviations
}

TEST(RngBelow, IsUniformForASmallBound) {
  std::array<int, 10> counts{};
  Rng rng(5);
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(rng.Below(10))];
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 10, 600);
}

TEST(RngShuffle, IsAPermutationFixedBySeed) {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 100U}) {
    std::vector<int> sorted(size);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::vector<int> once = sorted;
    std::vector<int> again = sorted;
    Rng(6).Shuffle(std::span<int>(once));
    Rng(6).Shuffle(std::span<int>(again));
    EXPECT_EQ(once, again);
    if (size == 100) {
      std::vector<int> other = sorted;
      Rng(7).Shuffle(std::span<int>(other));
      EXPECT_NE(once, other);
      EXPECT_NE(once, sorted);
    }
    std::sort(once.begin(), once.end());
    EXPECT_EQ(once, sorted);
  }
}

TEST(RngShuffle, GivesEveryOrderTheSameChance) {
  std::array<int, 6> counts{};
  Rng rng(8);
  constexpr int kShuffles = 60'000;
  for (int i = 0; i < kShuffles; ++i) {
    std::array<int, 3> items = {0, 1, 2};
    rng.Shuffle(std::span<int>(items));
    ++counts[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : counts) EXPECT_NEAR(count, kShuffles / 6, 600);
}

}  // namespace
}  // namespace gpusched
