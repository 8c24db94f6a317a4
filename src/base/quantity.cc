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
  return {.milli = std::llround(milli)};
}

MilliResult MilliFromGpus(double gpus) {
  // Checked before rounding, so that 1.0001 is refused rather than taken for one device.
  if (std::isfinite(gpus) && gpus > 1 && gpus != std::floor(gpus)) {
    return {.error = QuantityError::kNotWhole};
  }
  return MilliFromUnits(gpus);
}

}  // namespace gpusched
