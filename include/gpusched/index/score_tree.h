// ScoreTree: a tournament over rows of scores: which is the first row with the highest score?
#ifndef GPUSCHED_INDEX_SCORE_TREE_H_
#define GPUSCHED_INDEX_SCORE_TREE_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "gpusched/index/lane_kernels.h"

namespace gpusched {

// Row r has a score in each of `width` lanes; 0 is that of a row that is no candidate. Above every
// kFan rows stands a row with the element-wise maxima, above kFan of those another, up to one. So
// one load says that a lane has no candidate, and a walk down to the first child that equals the
// maximum ends at the first best row: exactly the winner of a scan from row 0 on.
//
// T is std::uint8_t or std::uint16_t. Memory: width · sizeof(T) · 16/15 bytes a row.
template <class T>
class ScoreTree {
 public:
  static constexpr std::size_t kFan = kLaneFan;
  // The width is a multiple of it.
  static constexpr std::size_t kBlock = kLaneBlock;
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  explicit ScoreTree(SimdUse simd = SimdUse::kBest) : kernels_(&LaneKernelsFor<T>(simd)) {}

  // Forgets everything; all scores are 0. `width` is a multiple of kBlock.
  void Reset(std::size_t rows, std::size_t width) {
    width_ = width;
    levels_.clear();
    std::size_t count = std::max<std::size_t>(rows, 1);
    do {
      count = (count + kFan - 1) / kFan * kFan;
      levels_.emplace_back(count * width, T{0});
      count /= kFan;
    } while (count > 1);
    root_.assign(width, 0);
    before_.assign(width, 0);
  }

  std::size_t rows() const { return levels_.empty() ? 0 : levels_[0].size() / width_; }
  std::size_t width() const { return width_; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& level : levels_) sum += level.capacity() * sizeof(T);
    return sum + (root_.capacity() + before_.capacity()) * sizeof(T);
  }
  std::span<const T> row(std::size_t r) const { return {levels_[0].data() + r * width_, width_}; }

  // Writes a row without looking at those above it; RebuildAbove is due afterwards.
  void Fill(std::size_t r, std::span<const T> scores) {
    std::copy(scores.begin(), scores.end(), levels_[0].data() + r * width_);
  }
  void FillLane(std::size_t r, std::size_t lane, T score) { levels_[0][r * width_ + lane] = score; }
  // Computes all maxima anew. O(rows · width).
  void RebuildAbove() {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t groups = levels_[level].size() / width_ / kFan;
      for (std::size_t group = 0; group < groups; ++group) {
        kernels_->maxima(Group(level, group), width_, ParentOf(level, group));
      }
    }
  }
  // The same for one lane. O(rows).
  void RebuildAbove(std::size_t lane) {
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t groups = levels_[level].size() / width_ / kFan;
      for (std::size_t group = 0; group < groups; ++group) {
        const T* const first = Group(level, group) + lane;
        T best = 0;
        for (std::size_t i = 0; i < kFan; ++i) best = std::max(best, first[i * width_]);
        ParentOf(level, group)[lane] = best;
      }
    }
  }

  // Replaces a row and mends what is above it, up to where nothing changes.
  // O(width · levels), and kFan times that where a maximum was lost.
  void Update(std::size_t r, const T* scores) {
    T* child = levels_[0].data() + r * width_;
    // `before_` has what the child row was, `child` what it is.
    std::copy(child, child + width_, before_.data());
    std::copy(scores, scores + width_, child);
    std::size_t at = r;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      const std::size_t group = at / kFan;
      T* const parent = ParentOf(level, group);
      if (!kernels_->mend(before_.data(), child, Group(level, group), width_, parent)) return;
      child = parent;
      at = group;
    }
  }

  // The same for one lane of a row.
  void UpdateLane(std::size_t r, std::size_t lane, T score) {
    T* child = levels_[0].data() + r * width_ + lane;
    std::size_t at = r;
    for (std::size_t level = 0; *child != score; ++level) {
      const T before = *child;
      *child = score;
      if (level == levels_.size()) return;
      at /= kFan;
      child = ParentOf(level, at) + lane;
      if (score < *child) {
        if (before != *child) return;
        // The maximum was lost.
        const T* const first = Group(level, at) + lane;
        score = 0;
        for (std::size_t i = 0; i < kFan; ++i) score = std::max(score, first[i * width_]);
      }
    }
  }

  // The highest score of a lane; 0: no row is a candidate. One load.
  T Max(std::size_t lane) const { return root_[lane]; }

  // The first row with the highest score of a lane; kNone if that is 0. O(log rows).
  std::size_t Best(std::size_t lane) const {
    const T best = root_[lane];
    if (best == 0) return kNone;
    std::size_t at = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      // All children, so that there is no branch that can't be foreseen.
      const T* const first = Group(level, at) + lane;
      std::uint32_t equal = 0;
      for (std::size_t i = 0; i < kFan; ++i) {
        equal |= static_cast<std::uint32_t>(first[i * width_] == best) << i;
      }
      at = at * kFan + static_cast<std::size_t>(std::countr_zero(equal));
    }
    return at;
  }

  // Enumerates the candidates of a lane by score, highest first, then by row: the order in which a
  // scan would take them. Lazy: what is not asked for is not looked at. Valid until the next
  // change.
  class Cursor {
   public:
    // Begins anew, with the memory of the enumeration before.
    void Begin(const ScoreTree& tree, std::size_t lane) {
      tree_ = &tree;
      lane_ = lane;
      heap_.clear();
      if (tree.Max(lane) > 0) Push(tree.Max(lane), tree.levels_.size(), 0);
    }
    // The next row; kNone: that was all. O(kFan · log(rows seen)).
    std::size_t Next() {
      while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), After);
        const Entry entry = heap_.back();
        heap_.pop_back();
        if (entry.level == 0) return entry.at;
        const std::size_t level = entry.level - 1;
        for (std::size_t i = 0; i < kFan; ++i) {
          const std::size_t at = entry.at * kFan + i;
          const T score = tree_->levels_[level][at * tree_->width_ + lane_];
          if (score > 0) Push(score, level, at);
        }
      }
      return kNone;
    }

   private:
    // A row on some level; level 0 is the bottom. `first` is the first bottom row below it.
    struct Entry {
      T score;
      std::size_t level;
      std::size_t at;
      std::size_t first;
    };
    static bool After(const Entry& a, const Entry& b) {
      return std::tie(a.score, b.first) < std::tie(b.score, a.first);
    }
    void Push(T score, std::size_t level, std::size_t at) {
      std::size_t first = at;
      for (std::size_t i = 0; i < level; ++i) first *= kFan;
      heap_.push_back({.score = score, .level = level, .at = at, .first = first});
      std::push_heap(heap_.begin(), heap_.end(), After);
    }

    const ScoreTree* tree_ = nullptr;
    std::size_t lane_ = 0;
    std::vector<Entry> heap_;
  };

 private:
  // The first of the kFan rows below a row.
  const T* Group(std::size_t level, std::size_t group) const {
    return levels_[level].data() + group * kFan * width_;
  }
  T* ParentOf(std::size_t level, std::size_t group) {
    return level + 1 == levels_.size() ? root_.data() : levels_[level + 1].data() + group * width_;
  }

  const LaneKernels<T>* kernels_;
  std::size_t width_ = 0;
  std::vector<std::vector<T>> levels_;  // the bottom first
  std::vector<T> root_;
  std::vector<T> before_;
};

}  // namespace gpusched

#endif  // GPUSCHED_INDEX_SCORE_TREE_H_
