// Integer quantities: limits, checked arithmetic, and the one rounding where a float may enter.
//
// Inside the library every amount is a 64-bit integer in its unit (milli-GPU, milli-CPU, MiB).
// Floats exist only at the edge, where a caller says "0.5 GPU"; they are rounded to the nearest
// unit once, here, or refused.
#ifndef GPUSCHED_BASE_QUANTITY_H_
#define GPUSCHED_BASE_QUANTITY_H_

#include <cstdint>

#include "gpusched/export.h"

namespace gpusched {

// One whole GPU or CPU core, in milli.
inline constexpr std::int64_t kMilli = 1000;

// Largest amount that one field may name: 2^40 units. Products of two such quantities with a
// weight of 20 bits stay inside 128 bits, which exact share comparison relies on.
inline constexpr std::int64_t kMaxQuantity = std::int64_t{1} << 40;

// 128 bits, for products of two quantities.
__extension__ using Wide = __int128;

// Adds two amounts; returns false, and leaves `out` alone, if the sum leaves 64 bits.
[[nodiscard]] constexpr bool CheckedAdd(std::int64_t a, std::int64_t b, std::int64_t& out) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  out = sum;
  return true;
}

// Multiplies two amounts; returns false, and leaves `out` alone, if the product leaves 64 bits.
[[nodiscard]] constexpr bool CheckedMul(std::int64_t a, std::int64_t b, std::int64_t& out) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  out = product;
  return true;
}

// Why a number given as a float is not a quantity.
enum class QuantityError : std::uint8_t {
  kNone,
  kNotFinite,        // NaN or infinite
  kNegative,         // below 0
  kBelowResolution,  // above 0 but under one milli
  kNotWhole,         // more than one GPU, but not a whole number of them
  kTooLarge,         // above kMaxQuantity
};

// A quantity in milli, or the reason there is none (then `milli` is 0).
struct MilliResult {
  std::int64_t milli = 0;
  QuantityError error = QuantityError::kNone;

  constexpr bool ok() const { return error == QuantityError::kNone; }
};

// Converts cores or GPUs to milli, rounding to nearest (halves up) once.
// 0.0029 becomes 3; 0.0003 is refused, because it would silently become nothing.
GPUSCHED_EXPORT MilliResult MilliFromUnits(double units);

// Like MilliFromUnits for a GPU ask, which is a part of one device or a whole number of devices:
// 0.5 becomes 500, 2.0 becomes 2000, 1.5 is refused.
GPUSCHED_EXPORT MilliResult MilliFromGpus(double gpus);

}  // namespace gpusched

#endif  // GPUSCHED_BASE_QUANTITY_H_
