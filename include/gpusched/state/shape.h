// Shape: a validated, interned request, in the form that the hot path reads.
#ifndef GPUSCHED_STATE_SHAPE_H_
#define GPUSCHED_STATE_SHAPE_H_

#include <cstdint>

#include "gpusched/base/quantity.h"
#include "gpusched/spec/sharing_mode.h"
#include "gpusched/spec/task_kind.h"
#include "gpusched/state/model_table.h"
#include "gpusched/state/offer.h"

namespace gpusched {

// See ShapeSpec for the meaning of the amounts. Models are a mask; an ask for any model is
// kAnyModel, so that "is it allowed" is one AND.
struct Shape {
  static constexpr std::int32_t kNoProfile = -1;

  std::int64_t cpu_milli = 0;
  std::int64_t mem_mib = 0;
  std::int64_t gpu_mem_mib = 0;
  std::int32_t gpu_milli = 0;
  std::int32_t gpu_count = 0;
  ModelMask models = kAnyModel;
  std::int32_t profile = kNoProfile;  // index in the MigTable
  // SharingModes by bit, as they were asked; 0: none were named.
  std::uint8_t sharing = 0;
  bool distinct_devices = false;

  bool asks_gpu() const { return gpu_count > 0; }
  // MIG instances of a profile.
  bool asks_profile() const { return profile != kNoProfile; }
  // Memory of a device, in whatever way.
  bool asks_memory_alone() const {
    return gpu_count > 0 && gpu_milli == 0 && gpu_mem_mib > 0 && !asks_profile();
  }
  // A part of one device, as opposed to whole ones or several instances.
  bool shares() const { return gpu_count == 1 && gpu_milli < kMilli; }
  // A share or whole devices, in whatever mode: what a plain device (NodeView::plain) serves as the
  // amounts say.
  bool plain() const { return gpu_count == 0 || (gpu_milli > 0 && sharing == 0); }
  std::int64_t gpu_milli_total() const { return std::int64_t{gpu_count} * gpu_milli; }
  TaskKind kind() const { return KindOf(gpu_count, gpu_milli); }

  // The ways in which it may be served, by docs/devices.md, "What a task asks".
  OfferMask wants() const {
    if (gpu_milli == kMilli) return kOfferWhole;
    if (gpu_milli > 0 && sharing == 0) return kOfferShare | kOfferMps | kOfferTimeSlicing;
    if (asks_profile()) return kOfferMig;
    const auto allows = [&](SharingMode mode) {
      return sharing == 0 || ((sharing >> static_cast<unsigned>(mode)) & 1) != 0;
    };
    unsigned wants = 0;
    if (allows(SharingMode::kFraction)) wants |= kOfferShare;
    if (allows(SharingMode::kMps)) wants |= kOfferMps;
    if (allows(SharingMode::kTimeSlicing)) wants |= kOfferTimeSlicing;
    if (asks_memory_alone() && allows(SharingMode::kMig)) wants |= kOfferMig;
    if (asks_memory_alone() && allows(SharingMode::kExclusive)) wants |= kOfferWholeForMemory;
    return static_cast<OfferMask>(wants);
  }
  bool may_take_instance() const { return (wants() & kOfferMig) != 0; }

  friend bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace gpusched

#endif  // GPUSCHED_STATE_SHAPE_H_
