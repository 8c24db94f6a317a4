#include "gpusched/index/score_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpusched/base/rng.h"

namespace gpusched {
namespace {

// The rows themselves, looked at one by one.
template <class T>
class Reference {
 public:
  Reference(std::size_t rows, std::size_t width) : rows_(rows, std::vector<T>(width, 0)) {}
  std::vector<T>& operator[](std::size_t row) { return rows_[row]; }

  std::size_t Best(std::size_t lane) const {
    std::size_t best = ScoreTree<T>::kNone;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row][lane] == 0) continue;
      if (best == ScoreTree<T>::kNone || rows_[row][lane] > rows_[best][lane]) best = row;
    }
    return best;
  }
  std::vector<std::size_t> All(std::size_t lane) const {
    std::vector<std::size_t> all;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row][lane] > 0) all.push_back(row);
    }
    std::stable_sort(all.begin(), all.end(),
                     [&](std::size_t a, std::size_t b) { return rows_[a][lane] > rows_[b][lane]; });
    return all;
  }

 private:
  std::vector<std::vector<T>> rows_;
};

template <class T>
void ExpectLikeReference(SimdUse simd, std::size_t rows, std::size_t width, std::uint64_t most) {
  ScoreTree<T> tree(simd);
  tree.Reset(rows, width);
  Reference<T> reference(rows, width);
  Rng rng(rows * 31 + width + most);
  typename ScoreTree<T>::Cursor cursor;
  const auto random_row = [&](std::size_t row) {
    for (T& score : reference[row]) {
      // Often none, and few values, so that ties decide.
      score = rng.Below(3) == 0 ? T{0} : static_cast<T>(rng.Below(most) + 1);
    }
  };
  for (std::size_t row = 0; row < rows; ++row) {
    random_row(row);
    tree.Fill(row, reference[row]);
  }
  tree.RebuildAbove();
  for (int step = 0; step < 300; ++step) {
    const std::size_t row = rng.Below(rows);
    const std::size_t lane = rng.Below(width);
    if (rng.Below(8) == 0) {
      reference[row][lane] = static_cast<T>(rng.Below(most + 1));
      tree.FillLane(row, lane, reference[row][lane]);
      tree.RebuildAbove(lane);
    } else if (rng.Below(3) == 0) {
      reference[row][lane] = static_cast<T>(rng.Below(most + 1));
      tree.UpdateLane(row, lane, reference[row][lane]);
    } else {
      random_row(row);
      tree.Update(row, reference[row].data());
    }
    for (std::size_t l = 0; l < width; l += 1 + rng.Below(4)) {
      ASSERT_EQ(tree.Best(l), reference.Best(l)) << "step " << step << " lane " << l;
      const bool none = reference.Best(l) == ScoreTree<T>::kNone;
      ASSERT_EQ(tree.Max(l), none ? 0 : reference[reference.Best(l)][l]);
    }
    if (step % 30 == 0) {
      cursor.Begin(tree, lane);
      for (const std::size_t expected : reference.All(lane)) ASSERT_EQ(cursor.Next(), expected);
      ASSERT_EQ(cursor.Next(), ScoreTree<T>::kNone);
      ASSERT_EQ(cursor.Next(), ScoreTree<T>::kNone);
    }
  }
}

TEST(ScoreTree, FindsWhatALookAtEachRowFinds) {
  for (const SimdUse simd : {SimdUse::kBest, SimdUse::kPortable}) {
    for (const std::size_t rows : {1U, 15U, 16U, 17U, 256U, 257U, 700U}) {
      ExpectLikeReference<std::uint8_t>(simd, rows, 64, 3);
      ExpectLikeReference<std::uint16_t>(simd, rows, 32, 4);
    }
    ExpectLikeReference<std::uint8_t>(simd, 40, 96, 255);
    ExpectLikeReference<std::uint16_t>(simd, 40, 96, 65'535);
  }
}

TEST(ScoreTree, AnEmptyOneHasNoCandidates) {
  ScoreTree<std::uint8_t> tree;
  tree.Reset(0, 32);
  EXPECT_EQ(tree.Best(31), ScoreTree<std::uint8_t>::kNone);
  ScoreTree<std::uint8_t>::Cursor cursor;
  cursor.Begin(tree, 0);
  EXPECT_EQ(cursor.Next(), ScoreTree<std::uint8_t>::kNone);
}

TEST(ScoreTree, CostsLittleMoreThanItsRows) {
  ScoreTree<std::uint8_t> tree;
  tree.Reset(10'000, 128);
  EXPECT_LT(tree.bytes(), 10'000U * 140U);
}

}  // namespace
}  // namespace gpusched
