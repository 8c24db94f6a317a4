// OfferMask: in which ways a device can be had now, and in which ways a task would have it.
#ifndef GPUSCHED_STATE_OFFER_H_
#define GPUSCHED_STATE_OFFER_H_

#include <cstdint>

namespace gpusched {

// A set of the constants below. A device offers some, a shape wants some; what they have in common
// is how the task may be served (docs/devices.md).
using OfferMask = std::uint8_t;

inline constexpr OfferMask kOfferWhole = 1;            // nobody is on it
inline constexpr OfferMask kOfferShare = 2;            // milli and memory beside others
inline constexpr OfferMask kOfferMps = 4;              // a replica
inline constexpr OfferMask kOfferTimeSlicing = 8;      // a replica
inline constexpr OfferMask kOfferMig = 16;             // an instance, where slices are free
inline constexpr OfferMask kOfferWholeForMemory = 32;  // the whole of an exclusive device
inline constexpr OfferMask kOfferMedia = 64;           // an instance with media extensions

}  // namespace gpusched

#endif  // GPUSCHED_STATE_OFFER_H_
