// Time and Duration: integer microseconds; the library has no clock, every time is an argument.
#ifndef GPUSCHED_BASE_TIME_H_
#define GPUSCHED_BASE_TIME_H_

#include <cstdint>

namespace gpusched {

// A point in time, in microseconds since an epoch of the caller's choice; 0 to kMaxTime.
using Time = std::int64_t;
// A length of time, in microseconds; 0 to kMaxTime.
using Duration = std::int64_t;

inline constexpr Duration kSecond = 1'000'000;
inline constexpr Duration kMinute = 60 * kSecond;

// Largest time and duration: 2^60 us, some 36,500 years. The sum of two stays inside 64 bits.
inline constexpr Time kMaxTime = std::int64_t{1} << 60;

// Later than any time that may be named: "never expires".
inline constexpr Time kNoDeadline = std::int64_t{1} << 62;

}  // namespace gpusched

#endif  // GPUSCHED_BASE_TIME_H_
