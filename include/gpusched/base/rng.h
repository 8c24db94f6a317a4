// A seeded random source that gives the same numbers everywhere.
//
// The standard library's distributions are implementation-defined and abseil's generator is salted
// per process, so neither may decide anything here.
#ifndef GPUSCHED_BASE_RNG_H_
#define GPUSCHED_BASE_RNG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace gpusched {

// Scrambles 64 bits: the finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014, section 5).
constexpr std::uint64_t Mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// SplitMix64: a counter stepped by an odd constant and scrambled. O(1) a draw, period 2^64.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return Mix64(state_);
  }

  // A uniform integer in [0, bound); bound must not be 0. Unbiased: draws that would favour small
  // values are thrown away.
  constexpr std::uint64_t Below(std::uint64_t bound) {
    const std::uint64_t rest = (0 - bound) % bound;  // 2^64 mod bound
    std::uint64_t draw = Next();
    while (draw < rest) draw = Next();
    return draw % bound;
  }

  // A uniform random order (Fisher–Yates, from the back).
  template <class T>
  constexpr void Shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<std::size_t>(Below(i))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace gpusched

#endif  // GPUSCHED_BASE_RNG_H_
