// SharingMode: how several tasks may be on one device at a time.
#ifndef GPUSCHED_SPEC_SHARING_MODE_H_
#define GPUSCHED_SPEC_SHARING_MODE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpusched {

// Of a device: what its owner allows. Of a decision: how the task has what it has.
enum class SharingMode : std::uint8_t {
  kExclusive,    // one task has the whole device
  kFraction,     // shares in milli, and memory as a dimension of its own
  kMps,          // a number of equal replicas through the MPS server; no isolation of memory
  kTimeSlicing,  // a number of equal replicas that take turns; no isolation at all
  kMig,          // instances that the hardware keeps apart
};

inline constexpr std::size_t kSharingModes = 5;

// The stable text of a mode: "exclusive", "fraction", "mps", "time_slicing", "mig".
constexpr std::string_view SharingModeName(SharingMode mode) {
  constexpr std::string_view kNames[kSharingModes] = {"exclusive", "fraction", "mps",
                                                      "time_slicing", "mig"};
  return kNames[static_cast<std::size_t>(mode)];
}

// Whether tasks in this mode can harm each other: the device does not keep them apart.
constexpr bool SharesWithoutIsolation(SharingMode mode) {
  return mode == SharingMode::kMps || mode == SharingMode::kTimeSlicing;
}

// Whether a device in this mode is given out in equal replicas.
constexpr bool HasReplicas(SharingMode mode) { return SharesWithoutIsolation(mode); }

}  // namespace gpusched

#endif  // GPUSCHED_SPEC_SHARING_MODE_H_
