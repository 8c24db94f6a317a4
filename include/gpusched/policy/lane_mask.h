// LaneMask: a set of lanes: numbers of the shapes that are scored side by side.
#ifndef GPUSCHED_POLICY_LANE_MASK_H_
#define GPUSCHED_POLICY_LANE_MASK_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gpusched {

// At most this many shapes are scored side by side.
inline constexpr std::size_t kMaxLanes = 256;

class LaneMask {
 public:
  void Insert(std::size_t lane) { words_[lane / 64] |= std::uint64_t{1} << (lane % 64); }
  void Remove(std::size_t lane) { words_[lane / 64] &= ~(std::uint64_t{1} << (lane % 64)); }
  bool contains(std::size_t lane) const { return ((words_[lane / 64] >> (lane % 64)) & 1) != 0; }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }

  // Calls `visit(lane)` in ascending order.
  template <class Visitor>
  void ForEach(Visitor&& visit) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t rest = words_[i]; rest != 0; rest &= rest - 1) {
        visit(i * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
  }

  friend LaneMask operator&(const LaneMask& a, const LaneMask& b) {
    LaneMask both;
    for (std::size_t i = 0; i < kWords; ++i) both.words_[i] = a.words_[i] & b.words_[i];
    return both;
  }
  friend LaneMask operator|(const LaneMask& a, const LaneMask& b) {
    LaneMask any;
    for (std::size_t i = 0; i < kWords; ++i) any.words_[i] = a.words_[i] | b.words_[i];
    return any;
  }
  // The lanes of `a` that are not in `b`.
  friend LaneMask operator-(const LaneMask& a, const LaneMask& b) {
    LaneMask rest;
    for (std::size_t i = 0; i < kWords; ++i) rest.words_[i] = a.words_[i] & ~b.words_[i];
    return rest;
  }
  friend bool operator==(const LaneMask&, const LaneMask&) = default;

 private:
  static constexpr std::size_t kWords = kMaxLanes / 64;
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace gpusched

#endif  // GPUSCHED_POLICY_LANE_MASK_H_
