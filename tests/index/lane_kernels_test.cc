#include "gpusched/index/lane_kernels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

// The two ways of computing give the same; that they are right is tested with ScoreTree.
template <class T>
void ExpectEqualKernels() {
  const LaneKernels<T>& best = LaneKernelsFor<T>(SimdUse::kBest);
  const LaneKernels<T>& portable = LaneKernelsFor<T>(SimdUse::kPortable);
  Rng rng(7);
  const std::size_t width = 3 * kLaneBlock;
  for (int round = 0; round < 200; ++round) {
    std::vector<T> rows(kLaneFan * width);
    const std::uint64_t most = round % 2 == 0 ? 4 : std::numeric_limits<T>::max();
    for (T& score : rows) score = static_cast<T>(rng.Below(most + 1));
    std::vector<T> one(width), two(width);
    best.maxima(rows.data(), width, one.data());
    portable.maxima(rows.data(), width, two.data());
    ASSERT_EQ(one, two);

    const std::size_t changed = rng.Below(kLaneFan) * width;
    const std::vector<T> before(rows.begin() + static_cast<std::ptrdiff_t>(changed),
                                rows.begin() + static_cast<std::ptrdiff_t>(changed + width));
    for (std::size_t lane = 0; lane < width; ++lane) {
      if (rng.Below(4) == 0) rows[changed + lane] = static_cast<T>(rng.Below(most + 1));
    }
    std::vector<T> before_one = before, before_two = before;
    ASSERT_EQ(
        best.mend(before_one.data(), rows.data() + changed, rows.data(), width, one.data()),
        portable.mend(before_two.data(), rows.data() + changed, rows.data(), width, two.data()));
    ASSERT_EQ(one, two);
    ASSERT_EQ(before_one, before_two);
    std::vector<T> anew(width);
    portable.maxima(rows.data(), width, anew.data());
    ASSERT_EQ(one, anew);

    std::vector<std::int32_t> scores(width);
    const auto high = static_cast<std::int32_t>(std::numeric_limits<T>::max());
    const auto most_score = high - static_cast<std::int32_t>(rng.Below(3));
    for (std::int32_t& score : scores) {
      score = static_cast<std::int32_t>(rng.Below(static_cast<std::uint64_t>(most_score) + 1)) - 9;
    }
    if (round % 3 == 1) scores[rng.Below(width)] = most_score - 8;
    if (round % 3 == 2) scores[rng.Below(width)] = -10;
    const bool right = best.narrow(scores.data(), width, -9, most_score, one.data());
    ASSERT_EQ(right, round % 3 == 0);
    ASSERT_EQ(portable.narrow(scores.data(), width, -9, most_score, two.data()), right);
    if (!right) continue;
    ASSERT_EQ(one, two);
    for (std::size_t lane = 0; lane < width; ++lane) ASSERT_EQ(one[lane], scores[lane] + 9);
  }
}

TEST(LaneKernels, EveryMachineComputesTheSame) {
  ExpectEqualKernels<std::uint8_t>();
  ExpectEqualKernels<std::uint16_t>();
}

}  // namespace
}  // namespace gpusched
