#include "gpusched/base/quantity.h"

#include <cmath>

namespace gpusched {

MilliResult MilliFromUnits(double units) {
  if (!std::isfinite(units)) return {.error = QuantityError::kNotFinite};
  if (units < 0) return {.error = QuantityError::kNegative};
  if (units == 0) return {};
  if (units < 0.001) return {.error = QuantityError::kBelowResolution};
  const double milli = units * static_cast<double>(kMilli);
  if (milli > static_cast<double>(kMaxQuantity)) return {.error = QuantityError::kTooLarge};
  // By way of nano: 0.5005 stands for that decimal, though the nearest double lies below it.
  constexpr std::int64_t kNanoPerMilli = 1'000'000;
  const std::int64_t nano = std::llround(units * 1e9);
  return {.milli = (nano + kNanoPerMilli / 2) / kNanoPerMilli};
}

MilliResult MilliFromGpus(double gpus) {
  // Checked before rounding, so that 1.0001 is refused rather than taken for one device.
  if (std::isfinite(gpus) && gpus > 1 && gpus != std::floor(gpus)) {
    return {.error = QuantityError::kNotWhole};
  }
  return MilliFromUnits(gpus);
}

}  // namespace gpusched
