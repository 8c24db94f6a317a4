#include "gpusched/index/lane_kernels.h"

#include "index/lane_kernels_avx2.h"
#include "index/lane_kernels_loops.h"

namespace gpusched {
namespace {

// Plain loops of a fixed length, which compilers turn into whatever vectors the target has.
template <class T>
struct PlainBlock {
  static constexpr std::size_t kLanes = kLaneBlock;
  static PlainBlock Load(const T* from) {
    PlainBlock block;
    for (std::size_t i = 0; i < kLanes; ++i) block.v[i] = from[i];
    return block;
  }
  void Store(T* to) const {
    for (std::size_t i = 0; i < kLanes; ++i) to[i] = v[i];
  }
  static PlainBlock Max(const PlainBlock& a, const PlainBlock& b) {
    PlainBlock block;
    for (std::size_t i = 0; i < kLanes; ++i) block.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
    return block;
  }
  static bool Differ(const PlainBlock& a, const PlainBlock& b) {
    T any = 0;
    for (std::size_t i = 0; i < kLanes; ++i) any = static_cast<T>(any | (a.v[i] ^ b.v[i]));
    return any != 0;
  }
  static bool Lost(const PlainBlock& was, const PlainBlock& is, const PlainBlock& maximum) {
    T any = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const bool lost = (was.v[i] == maximum.v[i]) & (is.v[i] < was.v[i]);
      any = static_cast<T>(any | (lost ? 1 : 0));
    }
    return any != 0;
  }
  static bool Narrow(const std::int32_t* scores, std::int32_t below, std::int32_t most, T* out) {
    std::uint32_t wrong = 0;
    for (std::size_t i = 0; i < kLanes; ++i) {
      const auto value = static_cast<std::uint32_t>(scores[i] - below);
      wrong |= value > static_cast<std::uint32_t>(most) ? 1U : 0U;
      out[i] = static_cast<T>(value);
    }
    return wrong != 0;
  }
  T v[kLanes];
};

template <class T>
constexpr LaneKernels<T> kPortable = {.maxima = Maxima<PlainBlock<T>, T>,
                                      .mend = Mend<PlainBlock<T>, T>,
                                      .narrow = Narrow<PlainBlock<T>, T>};

bool HasAvx2() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

template <class T>
const LaneKernels<T>& Choose(SimdUse use, const LaneKernels<T>* avx2) {
  return use == SimdUse::kBest && avx2 != nullptr && HasAvx2() ? *avx2 : kPortable<T>;
}

}  // namespace

template <>
const LaneKernels<std::uint8_t>& LaneKernelsFor<std::uint8_t>(SimdUse use) {
  return Choose(use, Avx2Kernels8());
}
template <>
const LaneKernels<std::uint16_t>& LaneKernelsFor<std::uint16_t>(SimdUse use) {
  return Choose(use, Avx2Kernels16());
}

}  // namespace gpusched
