// LaneKernels with AVX2; CMakeLists.txt has this file compiled for it, the caller asks the machine.
#include "index/lane_kernels_avx2.h"

#ifdef __AVX2__

#include <immintrin.h>

#include "index/lane_kernels_loops.h"

namespace gpusched {
namespace {

// Eight scores − below; notes in `wrong` which are not in 0 to most.
__m256i Eight(const std::int32_t* scores, __m256i below, __m256i most, __m256i& wrong) {
  const __m256i loaded = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scores));
  const __m256i value = _mm256_sub_epi32(loaded, below);
  // One that is too small is a large one without sign.
  wrong = _mm256_or_si256(wrong, _mm256_xor_si256(_mm256_min_epu32(value, most), value));
  return value;
}

template <class T>
struct Block;

template <>
struct Block<std::uint8_t> {
  static constexpr std::size_t kLanes = 32;
  static Block Load(const std::uint8_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void Store(std::uint8_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
  static Block Max(Block a, Block b) { return {_mm256_max_epu8(a.v, b.v)}; }
  static bool Differ(Block a, Block b) {
    const __m256i other = _mm256_xor_si256(a.v, b.v);
    return _mm256_testz_si256(other, other) == 0;
  }
  static bool Lost(Block was, Block is, Block maximum) {
    const __m256i kept = _mm256_cmpeq_epi8(_mm256_max_epu8(is.v, was.v), is.v);
    return _mm256_testc_si256(kept, _mm256_cmpeq_epi8(was.v, maximum.v)) == 0;
  }
  static bool Narrow(const std::int32_t* scores, std::int32_t below, std::int32_t most,
                     std::uint8_t* out) {
    const __m256i lo = _mm256_set1_epi32(below);
    const __m256i hi = _mm256_set1_epi32(most);
    __m256i wrong = _mm256_setzero_si256();
    const __m256i a = Eight(scores, lo, hi, wrong);
    const __m256i b = Eight(scores + 8, lo, hi, wrong);
    const __m256i c = Eight(scores + 16, lo, hi, wrong);
    const __m256i d = Eight(scores + 24, lo, hi, wrong);
    // Packing works in halves of 128 bits, so quarters come out as a c b d of either half.
    const __m256i packed =
        _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    Block{_mm256_permutevar8x32_epi32(packed, order)}.Store(out);
    return _mm256_testz_si256(wrong, wrong) == 0;
  }
  __m256i v;
};

template <>
struct Block<std::uint16_t> {
  static constexpr std::size_t kLanes = 16;
  static Block Load(const std::uint16_t* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void Store(std::uint16_t* to) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
  static Block Max(Block a, Block b) { return {_mm256_max_epu16(a.v, b.v)}; }
  static bool Differ(Block a, Block b) {
    const __m256i other = _mm256_xor_si256(a.v, b.v);
    return _mm256_testz_si256(other, other) == 0;
  }
  static bool Lost(Block was, Block is, Block maximum) {
    const __m256i kept = _mm256_cmpeq_epi16(_mm256_max_epu16(is.v, was.v), is.v);
    return _mm256_testc_si256(kept, _mm256_cmpeq_epi16(was.v, maximum.v)) == 0;
  }
  static bool Narrow(const std::int32_t* scores, std::int32_t below, std::int32_t most,
                     std::uint16_t* out) {
    const __m256i lo = _mm256_set1_epi32(below);
    const __m256i hi = _mm256_set1_epi32(most);
    __m256i wrong = _mm256_setzero_si256();
    const __m256i a = Eight(scores, lo, hi, wrong);
    const __m256i b = Eight(scores + 8, lo, hi, wrong);
    constexpr int kOrder = 0b11'01'10'00;
    Block{_mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), kOrder)}.Store(out);
    return _mm256_testz_si256(wrong, wrong) == 0;
  }
  __m256i v;
};

template <class T>
constexpr LaneKernels<T> kAvx2 = {
    .maxima = Maxima<Block<T>, T>, .mend = Mend<Block<T>, T>, .narrow = Narrow<Block<T>, T>};

}  // namespace

const LaneKernels<std::uint8_t>* Avx2Kernels8() { return &kAvx2<std::uint8_t>; }
const LaneKernels<std::uint16_t>* Avx2Kernels16() { return &kAvx2<std::uint16_t>; }

}  // namespace gpusched

#else

namespace gpusched {

const LaneKernels<std::uint8_t>* Avx2Kernels8() { return nullptr; }
const LaneKernels<std::uint16_t>* Avx2Kernels16() { return nullptr; }

}  // namespace gpusched

#endif
